package embedded

import (
	"fmt"
	"os"
	"syscall"
)

// hasProc says whether /proc can name the working directory.
const hasProc = true

// endWithParent asks the kernel to shut the server down when the program dies without having done so.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }

// isPostmaster reports whether process pid is a server on the directory data: a server works inside it.
func isPostmaster(pid int, data string) bool {
	cwd, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return false
	}
	dir, err := os.Stat(data)
	return err == nil && os.SameFile(cwd, dir)
}
