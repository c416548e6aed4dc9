// Package embedded runs a private PostgreSQL for one program: no installation, no account, no port.
//
//	<dir>/lock          held (flock) as long as a program uses the directory
//	<dir>/postgres/     the database itself, kept between runs
//	<dir>/postgres.log  what the server has to say
//
// The server listens on a unix socket only, in a directory of its own under the temporary directory, because a socket's
// path may have no more than about a hundred bytes. It ends with the program: by Stop, on Linux also when the program
// is killed, and whatever was left over is stopped by the next Start. PostgreSQL refuses to run as root; then its
// processes run under an unprivileged account (account.go).
//
// Read Start first; every step has its own file.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options says where the server lives. Dir is required.
type Options struct {
	Dir       string       // data, lock and log; made when missing
	Log       *slog.Logger // nil discards
	SocketDir string       // "" makes a fresh one and removes it again
	Throwaway bool         // no fsync: for tests whose data nobody will miss after a crash
	Settings  []string     // further server settings, name=value
}

// Server is a running PostgreSQL.
type Server struct {
	opts      Options
	lock      *lock
	account   *account
	bin       string
	data      string
	socketDir string
	process   *process // nil in a server that another program runs
	stopOnce  sync.Once
	stopErr   error
}

const (
	role         = "bankapi" // also the database's name
	stopPatience = 30 * time.Second
	bootPatience = 60 * time.Second // crash recovery included
)

// Start returns once the server answers. It fails with ErrInUse, and touches nothing, while another program runs a
// server on the same directory.
func Start(ctx context.Context, opts Options) (*Server, error) {
	s, err := prepare(opts)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL in %s: %w", opts.Dir, err)
	}
	if err := s.start(ctx); err != nil {
		if ctx.Err() != nil { // whatever the broken-off step says about itself
			err = ctx.Err()
		}
		return nil, errors.Join(fmt.Errorf("start PostgreSQL in %s: %w", opts.Dir, err), s.Stop())
	}
	return s, nil
}

// Join is Start, except that a server which another program runs on the directory is shared instead of refused.
// Stop leaves such a server running.
func Join(ctx context.Context, opts Options) (*Server, error) {
	s, err := Start(ctx, opts)
	if !errors.Is(err, ErrInUse) {
		return s, err
	}
	dir, absErr := filepath.Abs(opts.Dir)
	if absErr != nil {
		return nil, absErr
	}
	_, socketDir := readLock(filepath.Join(dir, "lock"))
	if socketDir == "" {
		return nil, err // it has only just begun to start
	}
	return &Server{opts: opts, socketDir: socketDir}, nil
}

// URL is the connection string of the server's database.
func (s *Server) URL() string { return s.url(role) }

// Bin is the directory of the server's programs, "" for a joined server.
func (s *Server) Bin() string { return s.bin }

// PID is the server's process, 0 for a joined server.
func (s *Server) PID() int {
	if s.process == nil {
		return 0
	}
	return s.process.cmd.Process.Pid
}

// Done is closed when the server has ended, by Stop or by itself. It is nil, and so never ready, for a joined server.
func (s *Server) Done() <-chan struct{} {
	if s.process == nil {
		return nil
	}
	return s.process.done
}

// Stop ends the server: transactions that run are rolled back, what was committed is on disk. It returns when all of
// it is gone and the directory is free for the next Start. Calling it again changes nothing.
func (s *Server) Stop() error {
	s.stopOnce.Do(func() {
		if s.process != nil {
			s.stopErr = s.process.stop(stopPatience)
		}
		if s.lock == nil {
			return // joined, not ours
		}
		if s.opts.SocketDir == "" && s.socketDir != "" {
			s.stopErr = errors.Join(s.stopErr, os.RemoveAll(s.socketDir))
		}
		s.stopErr = errors.Join(s.stopErr, s.lock.release())
	})
	return s.stopErr
}

// prepare does what comes before the first process: the directory, the lock, the account.
func prepare(opts Options) (*Server, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, err
	}
	opts.Dir = dir
	acct, err := chooseAccount(dir)
	if err != nil {
		return nil, err
	}
	if err := acct.mkdir(dir); err != nil {
		return nil, err
	}
	held, err := acquire(filepath.Join(dir, "lock"), acct)
	if err != nil {
		return nil, err
	}
	return &Server{opts: opts, lock: held, account: acct, data: filepath.Join(dir, "postgres")}, nil
}

func (s *Server) start(ctx context.Context) error {
	if err := stopLeftover(ctx, s.data, s.opts.Log); err != nil {
		return err
	}
	bin, err := findBinaries(ctx, dataVersion(s.data), s.opts.Log)
	if err != nil {
		return err
	}
	s.bin = bin
	if dataVersion(s.data) == "" {
		if err := s.initDB(ctx); err != nil {
			return err
		}
	}
	if s.socketDir, err = s.makeSocketDir(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, bootPatience)
	defer cancel()
	err = s.boot(ctx)
	for err != nil && strings.Contains(err.Error(), "is still in use") && ctx.Err() == nil {
		time.Sleep(200 * time.Millisecond) // a backend of a server that was killed has not noticed yet
		err = s.boot(ctx)
	}
	if err != nil {
		return err
	}
	return s.ensureDatabase(ctx)
}

// arguments of the server process. They go before what postgresql.conf says.
func (s *Server) arguments() []string {
	settings := []string{
		"listen_addresses=", // no TCP
		"unix_socket_directories=" + s.socketDir,
		"unix_socket_permissions=0700",
		"port=" + port,
		"cluster_name=" + role,
		"logging_collector=off",
		"log_timezone=UTC",
	}
	if s.opts.Throwaway {
		settings = append(settings, "fsync=off", "full_page_writes=off", "max_wal_size=256MB")
	} else {
		settings = append(settings, "fsync=on", "synchronous_commit=on", "full_page_writes=on")
	}
	var args []string
	for _, setting := range slices.Concat(settings, s.opts.Settings) {
		args = append(args, "-c", setting)
	}
	return args
}
