//go:build !linux

package embedded

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

const hasProc = false

// endWithParent does nothing here: the next Start stops what is left.
func endWithParent(*syscall.SysProcAttr) {}

// isPostmaster reports whether process pid looks like a server on the directory data.
func isPostmaster(pid int, data string) bool {
	line, err := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(line), "postgres") && strings.Contains(string(line), data)
}
