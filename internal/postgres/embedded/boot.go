package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	port         = "5432" // only part of the socket's name
	socketPrefix = "bankapi-pg-"
	maxSocketDir = 103 - len("/.s.PGSQL.") - len(port) // the kernel's limit, the smaller one of Linux and macOS
	maxLogSize   = 8 << 20
	codeTaken    = "42P04" // the database exists
)

func (s *Server) url(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + database}
	u.RawQuery = url.Values{"host": {s.socketDir}, "port": {port}}.Encode()
	return u.String()
}

func (s *Server) makeSocketDir() (string, error) {
	dir := s.opts.SocketDir
	if dir == "" {
		parent := os.TempDir()
		if s.account != nil || len(parent)+len("/")+len(socketPrefix)+10 > maxSocketDir {
			parent = "/tmp" // short, and open to every account
		}
		fresh, err := os.MkdirTemp(parent, socketPrefix)
		if err != nil {
			return "", err
		}
		dir = fresh
	}
	if len(dir) > maxSocketDir {
		return "", fmt.Errorf("socket directory %s: longer than %d bytes", dir, maxSocketDir)
	}
	return dir, errors.Join(s.account.own(dir), s.lock.write(dir))
}

// removeSocketDir clears away what makeSocketDir of an earlier run made.
func removeSocketDir(dir string) error {
	if !strings.HasPrefix(filepath.Base(dir), socketPrefix) {
		return nil
	}
	return os.RemoveAll(dir)
}

// boot starts the server process and waits until it answers.
func (s *Server) boot(ctx context.Context) error {
	logPath := filepath.Join(s.opts.Dir, "postgres.log")
	logFile, err := openLog(logPath, s.account)
	if err != nil {
		return err
	}
	defer logFile.Close()
	began, err := logFile.Seek(0, 2)
	if err != nil {
		return err
	}
	cmd, dataArg, dir, err := s.command(context.WithoutCancel(ctx), "postgres", s.data)
	if err != nil {
		return err
	}
	defer dir.Close()
	cmd.Args = append(cmd.Args, append([]string{"-D", dataArg}, s.arguments()...)...)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	if s.process, err = launch(cmd); err != nil {
		s.process = nil
		return fmt.Errorf("run %s: %w", cmd.Path, err)
	}
	if err := s.awaitAnswer(ctx); err != nil {
		return fmt.Errorf("%w; its log %s ends with:\n%s", err, logPath, tail(logPath, began))
	}
	return nil
}

func (s *Server) awaitAnswer(ctx context.Context) error {
	for {
		conn, err := pgx.Connect(ctx, s.url("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.process.done:
			return fmt.Errorf("PostgreSQL ended: %w", s.process.err)
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not answer: %w", errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *Server) ensureDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "CREATE DATABASE "+role)
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok && refusal.Code == codeTaken {
		return nil
	}
	return err
}

// openLog appends, except that a log which has grown large is started anew.
func openLog(path string, owner *account) (*os.File, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > maxLogSize {
		flags |= os.O_TRUNC
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	return file, owner.own(path)
}

// tail is what this start wrote to the log, at most the last ten lines.
func tail(path string, from int64) string {
	text, err := os.ReadFile(path)
	if err != nil || int64(len(text)) < from {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text[from:])), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
