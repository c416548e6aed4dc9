package main

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/postgres"
	"example.com/bankapi/internal/postgres/embedded"
)

// Server is the one PostgreSQL that all contenders use, each with a database of its own.
type server struct {
	*embedded.Server
	conn *pgx.Conn // for what is done between the slices
}

// settings of the server. All else is PostgreSQL's default; what keeps money safe (fsync, synchronous_commit,
// full_page_writes) is on. A checkpoint is made before each slice, so none falls into one.
var settings = []string{"max_wal_size=4GB", "checkpoint_timeout=1h", "max_connections=200"}

func startServer(ctx context.Context, dir string) (*server, error) {
	db, err := embedded.Start(ctx, embedded.Options{Dir: filepath.Join(dir, "server"), Settings: settings})
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, db.URL())
	if err != nil {
		_ = db.Stop()
		return nil, err
	}
	return &server{db, conn}, nil
}

// database makes an empty one and returns its URL.
func (s *server) database(ctx context.Context, name string) (string, error) {
	if _, err := s.conn.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
		return "", err
	}
	if _, err := s.conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	return postgres.OnDatabase(s.URL(), name), nil
}

// checkpoint lets a slice begin with nothing left to write of the one before.
func (s *server) checkpoint(ctx context.Context) error {
	_, err := s.conn.Exec(ctx, "CHECKPOINT")
	return err
}

// describe says what the server is.
func (s *server) describe(ctx context.Context) (string, error) {
	var version string
	if err := s.conn.QueryRow(ctx, "SHOW server_version").Scan(&version); err != nil {
		return "", err
	}
	number, _, _ := strings.Cut(version, " ")
	return fmt.Sprintf("PostgreSQL %s on a unix socket, fsync, synchronous_commit and full_page_writes on, %s", number, strings.Join(settings, ", ")), nil
}

func (s *server) stop(ctx context.Context) error {
	_ = s.conn.Close(ctx)
	return s.Stop()
}
