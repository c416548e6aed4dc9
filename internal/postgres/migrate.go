package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"example.com/bankapi/migrations"
)

// lockWait bounds how long an instance waits for another one that is migrating.
const lockWait = 10 * time.Minute

// Migrate brings the database at url to the newest schema. Instances that start at once take turns behind an advisory
// lock, and the late ones find nothing left to do. A migration that fails leaves the database as it was before it;
// the error names the file, the line and what to do, and the next Migrate takes up there.
// A schema newer than this program is left alone with a warning: during a roll-out old instances restart too.
func Migrate(ctx context.Context, url string, log *slog.Logger) error {
	return migrateFS(ctx, migrations.FS, url, log)
}

func migrateFS(ctx context.Context, fsys fs.FS, url string, log *slog.Logger) error {
	s, err := openSchema(ctx, fsys, url)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer s.close()

	before, err := s.state()
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if before.Version > before.Latest {
		log.WarnContext(ctx, "schema is newer than this program", "version", before.Version, "known", before.Latest)
		return nil
	}
	if err := s.m.Up(); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		return fmt.Errorf("migrate: %w", s.explain(err))
	}
	if ctx.Err() != nil {
		return fmt.Errorf("migrate: stopped between two migrations: %w", ctx.Err())
	}
	if before.Version < before.Latest {
		log.InfoContext(ctx, "schema migrated", "from", before.Version, "to", before.Latest)
	}
	return nil
}

// Down takes back the newest steps migrations, and with them what their tables hold.
func Down(ctx context.Context, url string, steps int) error {
	return downFS(ctx, migrations.FS, url, steps)
}

func downFS(ctx context.Context, fsys fs.FS, url string, steps int) error {
	if steps < 1 {
		return fmt.Errorf("migrate down: %d steps: at least 1", steps)
	}
	s, err := openSchema(ctx, fsys, url)
	if err != nil {
		return fmt.Errorf("migrate down: %w", err)
	}
	defer s.close()

	err = s.m.Steps(-steps)
	if _, short := errors.AsType[migrate.ErrShortLimit](err); short || errors.Is(err, fs.ErrNotExist) {
		return nil // fewer migrations than steps: all of them are taken back
	}
	if err != nil {
		return fmt.Errorf("migrate down: %w", s.explain(err))
	}
	return nil
}

// State is how far the schema of a database has come.
type State struct {
	Version uint // of the newest migration applied; 0 means none
	Latest  uint // of the newest migration this program knows
	Dirty   bool // another tool broke off half-way: see the error of Migrate
}

// Current reports whether the schema is fit for this program.
func (s State) Current() bool { return !s.Dirty && s.Version >= s.Latest }

// Status reads the state of the database at url.
func Status(ctx context.Context, url string) (State, error) {
	s, err := openSchema(ctx, migrations.FS, url)
	if err != nil {
		return State{}, fmt.Errorf("migration status: %w", err)
	}
	defer s.close()
	return s.state()
}

// schema is golang-migrate wired to one database and one set of files.
type schema struct {
	m      *migrate.Migrate
	source source.Driver
	stop   func() bool
}

func openSchema(ctx context.Context, fsys fs.FS, url string) (*schema, error) {
	files, err := iofs.New(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	cfg.RuntimeParams["statement_timeout"] = "0" // a migration may take its time
	setDefault(cfg.RuntimeParams, "application_name", "bankapi-migrate")
	db := stdlib.OpenDB(*cfg)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("reach database: %w", err), db.Close())
	}
	inner, err := migratepgx.WithInstance(db, &migratepgx.Config{})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	m, err := migrate.NewWithInstance("iofs", files, cfg.Database, &atomicDriver{Driver: inner})
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	m.LockTimeout = lockWait
	stop := context.AfterFunc(ctx, func() { m.GracefulStop <- true }) // ends after the migration that is running
	return &schema{m: m, source: files, stop: stop}, nil
}

func (s *schema) close() {
	s.stop()
	_, _ = s.m.Close() // both sides were only read from or have committed
}

func (s *schema) state() (State, error) {
	version, dirty, err := s.m.Version()
	if err != nil && !errors.Is(err, migrate.ErrNilVersion) {
		return State{}, fmt.Errorf("read schema version: %w", err)
	}
	latest, err := newest(s.source)
	if err != nil {
		return State{}, err
	}
	return State{Version: version, Latest: latest, Dirty: dirty}, nil
}

func newest(files source.Driver) (uint, error) {
	version, err := files.First()
	for err == nil {
		var next uint
		if next, err = files.Next(version); err == nil {
			version = next
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	return version, nil
}

// explain turns golang-migrate's errors into ones that say what to do.
func (s *schema) explain(err error) error {
	if dirty, ok := errors.AsType[migrate.ErrDirty](err); ok {
		return fmt.Errorf("the schema is marked dirty at version %d, which another tool leaves behind when it breaks off: "+
			"compare the tables with that migration, then set schema_migrations to the version they match and dirty = false, "+
			"and start again", dirty.Version)
	}
	failed, ok := errors.AsType[database.Error](err)
	if !ok {
		return err
	}
	state, stateErr := s.state()
	if stateErr != nil {
		return errors.Join(err, stateErr)
	}
	return fmt.Errorf("the migration after version %d failed in line %d: %w: "+
		"the database is unchanged by it; fix the cause and start again", state.Version, failed.Line, failed.OrigErr)
}
