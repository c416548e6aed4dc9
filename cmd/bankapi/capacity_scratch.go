package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/bankapi/internal/postgres"
	"example.com/bankapi/internal/postgres/embedded"
)

// scratch is an empty database that is gone when it has been measured. Nobody's data are in it.
type scratch struct {
	url  string
	drop func(context.Context) error
}

// openScratch makes a private server beside that of the data directory, and so on the same disk. On somebody's server it
// makes a database, if it may.
func openScratch(ctx context.Context, p *program, may bool) (*scratch, error) {
	switch {
	case p.databaseURL == "":
		return privateScratch(ctx, p)
	case !may:
		return nil, errors.New("--measure keeps the server of --database-url (DATABASE_URL) fully busy for half a minute, in a database that it " +
			"makes and drops again: add --yes if that may be, or leave the setting out to measure a private server on this machine")
	}
	return somebodysScratch(ctx, p.databaseURL)
}

func privateScratch(ctx context.Context, p *program) (*scratch, error) {
	dir := filepath.Join(p.dataDir, "capacity")
	server, err := embedded.Start(ctx, embedded.Options{Dir: dir, Log: p.log})
	if errors.Is(err, embedded.ErrInUse) {
		return nil, fmt.Errorf("%w: this machine is being measured already", err)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &scratch{url: server.URL(), drop: func(context.Context) error {
		err := errors.Join(server.Stop(), os.RemoveAll(dir))
		_ = os.Remove(p.dataDir) // only if there is no bank in it
		return err
	}}, nil
}

func somebodysScratch(ctx context.Context, databaseURL string) (*scratch, error) {
	name := "bankapi_capacity_" + strings.ToLower(rand.Text())
	if err := postgres.Execute(ctx, databaseURL, "CREATE DATABASE "+name); err != nil {
		return nil, fmt.Errorf("make a database to measure in: %w", err)
	}
	return &scratch{url: postgres.OnDatabase(databaseURL, name), drop: func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if err := postgres.Execute(ctx, databaseURL, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("drop database %s, which nobody needs: %w", name, err)
		}
		return nil
	}}, nil
}
