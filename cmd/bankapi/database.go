package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"example.com/bankapi/internal/postgres/embedded"
)

// databasePatience is how long a start waits for a database that is not up yet: compose and machines start in any order.
const databasePatience = 30 * time.Second

// database is the PostgreSQL in use: somebody's, or a private one.
type database struct {
	url     string
	private *embedded.Server // nil for somebody's
}

// openDatabase is for serve: the private server is this process's alone.
func openDatabase(ctx context.Context, p *program) (*database, error) {
	return connect(ctx, p, embedded.Start)
}

// joinDatabase is for the other commands: they work beside a bank that runs.
func joinDatabase(ctx context.Context, p *program) (*database, error) {
	return connect(ctx, p, embedded.Join)
}

// existingDatabase is joinDatabase for commands that have no use for a bank that is yet to be made.
func existingDatabase(ctx context.Context, p *program) (*database, error) {
	if p.databaseURL == "" {
		if _, err := os.Stat(filepath.Join(p.dataDir, "postgres")); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no bank in %s: start one with `bankapi serve`, or name one with --data-dir or DATABASE_URL", p.dataDir)
		}
	}
	return joinDatabase(ctx, p)
}

func connect(ctx context.Context, p *program, start func(context.Context, embedded.Options) (*embedded.Server, error)) (*database, error) {
	if p.databaseURL != "" {
		return &database{url: p.databaseURL}, nil
	}
	server, err := start(ctx, embedded.Options{Dir: p.dataDir, Log: p.log})
	if errors.Is(err, embedded.ErrInUse) {
		return nil, fmt.Errorf("%w: stop that bank, or give this one another directory with --data-dir", err)
	}
	if err != nil {
		return nil, err
	}
	return &database{url: server.URL(), private: server}, nil
}

// ended is closed when the private server ends; for somebody's server it never is.
func (d *database) ended() <-chan struct{} {
	if d.private == nil {
		return nil
	}
	return d.private.Done()
}

// stop ends the private server if this process runs it.
func (d *database) stop() error {
	if d.private == nil {
		return nil
	}
	return d.private.Stop()
}
