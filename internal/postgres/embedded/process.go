package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// command builds a PostgreSQL command that works on the directory data: under the account if there is one, in its own
// process group so that Ctrl-C in a terminal reaches us first. dataArg is how the command is to name the directory.
// The caller closes dir after the command has started.
func (s *Server) command(ctx context.Context, name, data string) (cmd *exec.Cmd, dataArg string, dir *os.File, err error) {
	dir, err = os.Open(data)
	if err != nil {
		return nil, "", nil, err
	}
	cmd = exec.CommandContext(ctx, filepath.Join(s.bin, name))
	cmd.Dir = "/"
	cmd.Env = environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.account.credential()}
	if s.account == nil || !hasProc {
		return cmd, data, dir, nil
	}
	// The account may be unable to walk to data by its path, but a directory that is open can be entered through
	// /proc, by the command and by its children, which inherit it.
	cmd.ExtraFiles = []*os.File{dir} // the first one is number 3
	return cmd, "/proc/self/fd/3", dir, nil
}

// environment is ours without the PG* variables, which would move the port, the directory or the defaults.
func environment() []string {
	kept := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PG") || strings.HasPrefix(v, "LC_") || strings.HasPrefix(v, "LANG=")
	})
	return append(kept, "LC_ALL=C")
}

// process is a server process that runs.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended; err is set before
	err  error
}

// launch starts cmd from a thread that lives as long as it does: Linux delivers the death of a parent when the thread
// that forked ends, and a thread of Go's may end before the program.
func launch(cmd *exec.Cmd) (*process, error) {
	endWithParent(cmd.SysProcAttr)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	return p, <-started
}

// stop asks for a fast shutdown, after patience for an immediate one (the next start recovers), and at last kills.
func (p *process) stop(patience time.Duration) error {
	for _, step := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{{syscall.SIGINT, patience}, {syscall.SIGQUIT, patience / 3}, {syscall.SIGKILL, patience}} {
		if err := p.cmd.Process.Signal(step.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop PostgreSQL: %w", err)
		}
		select {
		case <-p.done:
			if step.signal == syscall.SIGINT {
				return nil
			}
			return fmt.Errorf("stop PostgreSQL: it took %v", step.signal)
		case <-time.After(step.patience):
		}
	}
	return errors.New("stop PostgreSQL: it outlives SIGKILL")
}
