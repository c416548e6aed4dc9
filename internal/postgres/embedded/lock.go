package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// ErrInUse is returned by Start while another program holds the directory.
var ErrInUse = errors.New("the data directory is in use")

// lock is the right to use a directory. The kernel takes it back when the program ends, however it ends.
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
		holder, _ := io.ReadAll(file)
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w by process %s", ErrInUse, strings.TrimSpace(string(holder)))
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := errors.Join(owner.own(path), file.Truncate(0)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if _, err := fmt.Fprintln(file, os.Getpid()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &lock{file}, nil
}

// release leaves the file in place: removing it would let two programs lock two files of one name.
func (l *lock) release() error { return l.file.Close() }
