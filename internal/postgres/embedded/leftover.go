package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pidFile is what a server writes into its data directory.
type pidFile struct {
	pid       int
	socketDir string
}

func readPIDFile(data string) (pidFile, error) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return pidFile{}, err
	}
	lines := strings.Split(string(text), "\n") // pid, data directory, start time, port, socket directory, ...
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return pidFile{}, fmt.Errorf("postmaster.pid: %w", err)
	}
	file := pidFile{pid: pid}
	if len(lines) > 4 {
		file.socketDir = lines[4]
	}
	return file, nil
}

// stopLeftover ends the server of a program that died without stopping it. We hold the lock, so it serves nobody.
func stopLeftover(ctx context.Context, data string, log *slog.Logger) error {
	file, err := readPIDFile(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !isPostmaster(file.pid, data) {
		return dropStalePIDFile(file.pid, data)
	}
	log.InfoContext(ctx, "stopping the PostgreSQL of an earlier run", "pid", file.pid)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT} {
		if err := syscall.Kill(file.pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop the PostgreSQL of an earlier run, process %d: %w", file.pid, err)
		}
		for deadline := time.Now().Add(stopPatience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if !isPostmaster(file.pid, data) {
				return removeOldSocketDir(file.socketDir)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return fmt.Errorf("the PostgreSQL of an earlier run, process %d, does not stop; end it and start again", file.pid)
}

// dropStalePIDFile removes a file that names a process which is somebody else's by now: PostgreSQL would take it for a
// server that still runs and refuse to start. One that names nobody is left to PostgreSQL, which looks closer.
func dropStalePIDFile(pid int, data string) error {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return os.Remove(filepath.Join(data, "postmaster.pid"))
}

// removeOldSocketDir clears away what makeSocketDir of an earlier run made.
func removeOldSocketDir(dir string) error {
	if !strings.HasPrefix(filepath.Base(dir), socketPrefix) {
		return nil
	}
	return os.RemoveAll(dir)
}
