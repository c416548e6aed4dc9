package dbtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"example.com/bankapi/internal/dbtest"
)

func TestPoolsDoNotShareADatabase(t *testing.T) {
	t.Parallel()
	one, other := dbtest.Pool(t), dbtest.Pool(t)
	if _, err := one.Exec(t.Context(), "CREATE TABLE only_here ()"); err != nil {
		t.Fatal(err)
	}
	var visible bool
	err := other.QueryRow(t.Context(), "SELECT to_regclass('only_here') IS NOT NULL").Scan(&visible)
	if err != nil || visible {
		t.Errorf("the other database sees the table: %v, %v", visible, err)
	}
}

func TestPoolIsMigrated(t *testing.T) {
	t.Parallel()
	var version int
	if err := dbtest.Pool(t).QueryRow(t.Context(), "SELECT version FROM schema_migrations").Scan(&version); err != nil {
		t.Error(err)
	}
}

func TestRedisClientsDoNotShareKeys(t *testing.T) {
	t.Parallel()
	one, other := dbtest.Redis(t), dbtest.Redis(t)
	if err := one.Set(t.Context(), "k", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := other.Exists(t.Context(), "k").Result(); err != nil || n != 0 {
		t.Errorf("the other database sees the key: %d, %v", n, err)
	}
}

func TestPrivatePostgresKeepsWhatWasCommittedWhenKilled(t *testing.T) {
	t.Parallel()
	server := dbtest.PrivatePostgres(t)
	exec(t, server.URL(), "CREATE TABLE kept AS SELECT 1 AS n")
	server.Kill()
	server.Start()
	exec(t, server.URL(), "INSERT INTO kept SELECT n FROM kept")
	server.Stop()
	server.Start()
	exec(t, server.URL(), "INSERT INTO kept SELECT n FROM kept")

	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := pgx.Connect(ctx, server.URL()); err == nil {
		t.Error("a paused server answers")
	}
	server.Resume()
	exec(t, server.URL(), "DROP TABLE kept")
}

func TestPrivateRedisKeepsItsAddress(t *testing.T) {
	t.Parallel()
	server := dbtest.PrivateRedis(t)
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	options.MaxRetries, options.DialerRetries = -1, 1
	client := redis.NewClient(options)
	defer client.Close()

	server.Kill()
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Error("a killed server answers")
	}
	server.Start()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("started again: %v", err)
	}
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := client.Ping(ctx).Err(); err == nil {
		t.Error("a paused server answers")
	}
	server.Resume()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("resumed: %v", err)
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
