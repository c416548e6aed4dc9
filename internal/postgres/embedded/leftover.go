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

// serverPID reads what a server writes into its data directory when it starts.
func serverPID(data string) (int, error) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		return 0, fmt.Errorf("postmaster.pid: %w", err)
	}
	return pid, nil
}

// stopLeftover ends the server of a program that died without stopping it. We hold the lock, so it serves nobody.
func stopLeftover(ctx context.Context, data string, log *slog.Logger) error {
	pid, err := serverPID(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !isPostmaster(pid, data) {
		return dropStalePIDFile(pid, data)
	}
	log.InfoContext(ctx, "stopping the PostgreSQL of an earlier run", "pid", pid)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT} {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop the PostgreSQL of an earlier run, process %d: %w", pid, err)
		}
		for deadline := time.Now().Add(stopPatience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if !isPostmaster(pid, data) {
				return nil
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return fmt.Errorf("the PostgreSQL of an earlier run, process %d, does not stop; end it and start again", pid)
}

// dropStalePIDFile removes a file that names a process which is somebody else's by now: PostgreSQL would take it for a
// server that still runs and refuse to start. One that names nobody is left to PostgreSQL, which looks closer.
func dropStalePIDFile(pid int, data string) error {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return os.Remove(filepath.Join(data, "postmaster.pid"))
}
