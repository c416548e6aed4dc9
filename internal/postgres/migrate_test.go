package postgres_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/postgres"
)

var quiet = slog.New(slog.DiscardHandler)

func TestInstancesThatStartAtOnceAllComeUp(t *testing.T) {
	t.Parallel()
	url := dbtest.EmptyURL(t)
	var instances sync.WaitGroup
	for range 4 {
		instances.Go(func() {
			if err := postgres.Migrate(context.Background(), url, quiet); err != nil {
				t.Error(err)
			}
			pool, err := postgres.Open(context.Background(), url, postgres.Options{MaxConns: 1})
			if err != nil {
				t.Error(err)
				return
			}
			defer pool.Close()
			ready, err := postgres.Ready(pool)
			if err != nil {
				t.Error(err)
				return
			}
			if err := ready(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	instances.Wait()
}

func TestDownTakesBackWhatUpDid(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	if err := postgres.Down(t.Context(), url, 1); err != nil {
		t.Fatal(err)
	}
	state := status(t, url)
	if state.Current() || state.Version == 0 {
		t.Errorf("after one step down: %+v", state)
	}
	if err := postgres.Down(t.Context(), url, 1000); err != nil {
		t.Fatal(err)
	}
	if state := status(t, url); state.Version != 0 {
		t.Errorf("after all steps down: %+v", state)
	}
	var left int
	query(t, url, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'schema_migrations%'", &left)
	if left != 0 {
		t.Errorf("%d relations are left behind", left)
	}
	if err := postgres.Migrate(t.Context(), url, quiet); err != nil {
		t.Errorf("up again: %v", err)
	}
}

func TestAFailedMigrationIsUndoneAndRunsOnceItIsFixed(t *testing.T) {
	t.Parallel()
	url := dbtest.EmptyURL(t)
	files := fstest.MapFS{
		"0001_one.up.sql": file("CREATE TABLE one ()"),
		"0002_two.up.sql": file("CREATE TABLE two ();\nCREATE TABLE one ()"),
	}
	err := postgres.MigrateFS(t.Context(), files, url, quiet)
	if err == nil {
		t.Fatal("a table was made twice")
	}
	for _, want := range []string{"after version 1", `"one" already exists`, "start again"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	var half bool
	query(t, url, "SELECT to_regclass('two') IS NOT NULL", &half)
	if half {
		t.Error("half of the migration stayed")
	}
	files["0002_two.up.sql"] = file("CREATE TABLE two ()")
	if err := postgres.MigrateFS(t.Context(), files, url, quiet); err != nil {
		t.Errorf("once it is fixed: %v", err)
	}
}

func TestADirtyMarkOfAnotherToolIsExplained(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	exec(t, url, "UPDATE schema_migrations SET version = 1, dirty = true")
	err := postgres.Migrate(t.Context(), url, quiet)
	if err == nil || !strings.Contains(err.Error(), "dirty at version 1") || !strings.Contains(err.Error(), "schema_migrations") {
		t.Errorf("%v: want the version and what to do", err)
	}
}

func TestANewerSchemaIsLeftAlone(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	exec(t, url, "UPDATE schema_migrations SET version = 9999")
	if err := postgres.Migrate(t.Context(), url, quiet); err != nil {
		t.Error(err)
	}
	if state := status(t, url); state.Version != 9999 || !state.Current() {
		t.Errorf("%+v", state)
	}
}

func TestErrorsKeepThePassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://ada:hunter2@127.0.0.1:1/none",
		"postgres://ada:hunter2@127.0.0.1:port/none",
		"postgres://ada:hunter2@127.0.0.1:1/none?pool_max_conns=many",
	} {
		_, openErr := postgres.Open(t.Context(), url, postgres.Options{})
		migrateErr := postgres.Migrate(t.Context(), url, quiet)
		for _, err := range []error{openErr, migrateErr} {
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", url, err)
			}
		}
	}
}

func file(sql string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(sql)} }

func status(t *testing.T, url string) postgres.State {
	t.Helper()
	state, err := postgres.Status(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func query(t *testing.T, url, sql string, into any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), sql).Scan(into); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func exec(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
