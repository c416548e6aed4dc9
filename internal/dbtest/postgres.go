package dbtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/postgres"
	"example.com/bankapi/migrations"
)

// Pool returns a pool on a fresh, migrated database that is dropped after the test.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(context.Background(), URL(t), postgres.Options{AppName: t.Name()})
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// URL returns the connection string of a fresh, migrated database that is dropped after the test.
func URL(t testing.TB) string {
	t.Helper()
	template, err := templateDatabase()
	if err != nil {
		t.Fatalf("dbtest: migrated PostgreSQL: %v", err)
	}
	return fresh(t, template)
}

// EmptyURL is URL without the migrations.
func EmptyURL(t testing.TB) string {
	t.Helper()
	return fresh(t, "template0")
}

func fresh(t testing.TB, template string) string {
	t.Helper()
	server, err := postgresServer()
	if err != nil {
		t.Fatalf("dbtest: PostgreSQL: %v", err)
	}
	name := "test_" + strings.ToLower(rand.Text())
	if err := execute(server, "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	t.Cleanup(func() {
		if err := execute(server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("dbtest: %v", err)
		}
	})
	return postgres.OnDatabase(server, name)
}

// postgresServer is the connection string of the one server of this process.
var postgresServer = sync.OnceValues(func() (string, error) {
	if given := os.Getenv("BANKAPI_TEST_DATABASE_URL"); given != "" && !containersRequired() {
		announce("PostgreSQL", "BANKAPI_TEST_DATABASE_URL")
		return given, nil
	}
	server, origin, err := newPostgres()
	if err != nil {
		return "", err
	}
	announce("PostgreSQL", origin)
	return server.url(), nil
})

func newPostgres() (instance, string, error) {
	use, err := useContainers(postgresImage)
	if err != nil {
		return nil, "", err
	}
	if use {
		server, err := postgresContainer()
		return server, "a container of " + postgresImage, err
	}
	server, err := newLocalPostgres()
	if err != nil {
		return nil, "", fmt.Errorf("%w\nGive the tests a server: set BANKAPI_TEST_DATABASE_URL, or start a container engine "+
			"that has %s, or install the binaries (apt-get install postgresql)", err, postgresImage)
	}
	return server, "local binaries", nil
}

// templateDatabase migrates one database for all tests to be copied from. Processes that share a server share it; its
// name changes with the migrations.
var templateDatabase = sync.OnceValues(func() (string, error) {
	server, err := postgresServer()
	if err != nil {
		return "", err
	}
	name, err := templateName()
	if err != nil {
		return "", err
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", name); err != nil {
		return "", err
	}
	return name, makeTemplate(ctx, conn, server, name)
})

const selectTemplate = `
SELECT EXISTS (
	SELECT FROM pg_database
	 WHERE datname = $1 AND datistemplate)`

// makeTemplate marks the database as a template when it is whole; one without the mark was broken off.
func makeTemplate(ctx context.Context, conn *pgx.Conn, server, name string) error {
	var whole bool
	if err := conn.QueryRow(ctx, selectTemplate, name).Scan(&whole); err != nil || whole {
		return err
	}
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name + " TEMPLATE template0"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if err := postgres.Migrate(ctx, postgres.OnDatabase(server, name), slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "ALTER DATABASE "+name+" IS_TEMPLATE true ALLOW_CONNECTIONS false")
	return err
}

func templateName() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(migrations.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(migrations.FS, path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	return "bankapi_template_" + hex.EncodeToString(sum.Sum(nil)[:6]), err
}

// execute runs one statement on a connection of its own.
func execute(server, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return postgres.Execute(ctx, server, sql)
}
