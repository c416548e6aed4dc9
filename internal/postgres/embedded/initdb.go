package embedded

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// dataVersion is the major version the data was made with, "" when there is none.
func dataVersion(data string) string {
	version, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(version))
}

// initDB makes the data directory beside its final place and moves it there when it is whole, so that a run broken
// off in the middle leaves nothing that looks like a database.
func (s *Server) initDB(ctx context.Context) error {
	began := time.Now()
	fresh := s.data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := s.account.mkdir(fresh); err != nil {
		return err
	}
	cmd, dataArg, dir, err := s.command(ctx, "initdb", fresh)
	if err != nil {
		return err
	}
	defer dir.Close()
	// Whoever can open the socket may log in: its directory has mode 0700.
	cmd.Args = append(cmd.Args, "--pgdata="+dataArg, "--username="+role, "--auth-local=trust", "--auth-host=reject",
		"--encoding=UTF8", "--locale=C", "--data-checksums")
	if s.opts.Throwaway {
		cmd.Args = append(cmd.Args, "--no-sync")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(fresh, s.data); err != nil {
		return err
	}
	s.opts.Log.InfoContext(ctx, "database directory made", "version", dataVersion(s.data), "took", time.Since(began).Round(time.Millisecond))
	return nil
}
