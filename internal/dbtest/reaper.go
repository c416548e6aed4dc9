package dbtest

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// whenWeEnd has a shell run script, with args as $1, $2, ..., once this process has ended, however it ended: the shell
// waits at the far side of a pipe that the kernel closes. What a test process starts has no other owner: the testing
// package tells no one that it is done.
func whenWeEnd(script string, args ...string) error {
	shell := exec.Command("sh", append([]string{"-c", "cat >/dev/null\n" + script, "reaper"}, args...)...)
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us, not for the one who tidies up
	pipe, err := shell.StdinPipe()
	if err != nil {
		return err
	}
	if err := shell.Start(); err != nil {
		return fmt.Errorf("start reaper: %w", err)
	}
	held.Lock()
	defer held.Unlock()
	held.pipes = append(held.pipes, pipe)
	return nil
}

// held keeps the pipes open: one that nobody refers to is closed by the garbage collector.
var held struct {
	sync.Mutex
	pipes []io.Closer
}
