package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/postgres"
)

func TestAnotherDatabaseIsOnTheSameServer(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"postgres://bank:secret@db:5433/live?sslmode=require": "postgres://bank:secret@db:5433/scratch?sslmode=require",
		"postgresql:///live?host=/run/postgresql":             "postgresql:///scratch?host=/run/postgresql",
		"host=db user=bank dbname=live":                       "host=db user=bank dbname=live dbname=scratch",
	} {
		got := postgres.OnDatabase(given, "scratch")
		config, err := pgx.ParseConfig(got)
		if got != want || err != nil || config.Database != "scratch" {
			t.Errorf("OnDatabase(%q) = %q, which names %q, %v", given, got, config.Database, err)
		}
	}
}
