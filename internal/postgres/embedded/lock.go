package embedded

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// ErrInUse is returned by Start while another program holds the directory.
var ErrInUse = errors.New("the data directory is in use")

// lock is the right to use a directory. The kernel takes it back when the program ends, however it ends. The file says
// who holds it, in two lines: the process and, once it is chosen, the directory of the server's socket.
type lock struct{ file *os.File }

func acquire(path string, owner *account) (*lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("%w: it belongs to another user; run as that user or choose another directory", err)
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			pid, _ := readLock(path)
			return nil, fmt.Errorf("%w by process %s", ErrInUse, pid)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	l := &lock{file}
	_, oldSocketDir := readLock(path)
	if err := errors.Join(owner.own(path), removeSocketDir(oldSocketDir), l.write("")); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

func (l *lock) write(socketDir string) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt(fmt.Appendf(nil, "%d\n%s\n", os.Getpid(), socketDir), 0)
	return err
}

// readLock tells who holds the lock or held it last; what is not known is empty.
func readLock(path string) (pid, socketDir string) {
	text, _ := os.ReadFile(path)
	pid, rest, _ := strings.Cut(string(text), "\n")
	socketDir, _, _ = strings.Cut(rest, "\n")
	return pid, socketDir
}

// release unlocks first: a child that is just being started by somebody else holds a copy of the open file for a moment, and
// closing ours would leave it locked that long. The file stays in place: removing it would let two programs lock two
// files of one name.
func (l *lock) release() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}
