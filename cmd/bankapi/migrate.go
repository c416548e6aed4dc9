package main

import (
	"context"
	"errors"
	"fmt"

	"example.com/bankapi/internal/postgres"
)

type migrateCommand struct {
	Up     migrateUp     `cmd:"" help:"Bring the schema to the newest version; safe to run from several machines at once."`
	Down   migrateDown   `cmd:"" help:"Take back the newest migrations, and what their tables hold."`
	Status migrateStatus `cmd:"" help:"Print the version of the schema; exit 1 if it is not what this program needs."`
}

type migrateUp struct{}

func (migrateUp) Run(ctx context.Context, p *program) (err error) {
	db, err := joinDatabase(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.stop()) }()
	if err := migrate(ctx, p, db.url); err != nil {
		return err
	}
	return printState(ctx, p, db.url)
}

// migrate waits for the database first, so that every way to start does.
func migrate(ctx context.Context, p *program, url string) error {
	pool, err := postgres.Open(ctx, url, postgres.Options{AppName: "bankapi-migrate", MaxConns: 1, Patience: databasePatience})
	if err != nil {
		return err
	}
	pool.Close()
	return postgres.Migrate(ctx, url, p.log)
}

type migrateDown struct {
	Steps int `arg:"" optional:"" default:"1" help:"How many migrations to take back, 1 if not said."`
}

func (c migrateDown) Run(ctx context.Context, p *program) (err error) {
	db, err := existingDatabase(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.stop()) }()
	if err := postgres.Down(ctx, db.url, c.Steps); err != nil {
		return err
	}
	return printState(ctx, p, db.url)
}

type migrateStatus struct{}

func (migrateStatus) Run(ctx context.Context, p *program) (err error) {
	db, err := existingDatabase(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.stop()) }()
	if err := printState(ctx, p, db.url); err != nil {
		return err
	}
	state, err := postgres.Status(ctx, db.url)
	if err != nil {
		return err
	}
	if !state.Current() {
		return errors.New("the schema is behind this program: run `bankapi migrate up`")
	}
	return nil
}

func printState(ctx context.Context, p *program, url string) error {
	state, err := postgres.Status(ctx, url)
	if err != nil {
		return err
	}
	dirty := ""
	if state.Dirty {
		dirty = ", dirty: run `bankapi migrate up` to read what to do"
	}
	_, err = fmt.Fprintf(p.out, "schema version %d, this program knows up to %d%s\n", state.Version, state.Latest, dirty)
	return err
}
