// Package dbtest gives tests a real PostgreSQL and a real Redis. It is for tests only.
//
//	pool := dbtest.Pool(t)      // a database of its own, migrated, gone with the test
//	rdb := dbtest.Redis(t)      // a numbered Redis database of its own, empty
//	down := dbtest.PrivateRedis(t); down.Kill(); ...; down.Start() // for outages
//
// Where the servers come from, first match:
//
//  1. BANKAPI_TEST_DATABASE_URL and BANKAPI_TEST_REDIS_URL
//  2. containers of postgres:17 and redis:8, when a container engine answers and has the image
//  3. the binaries of this machine
//  4. none: the test fails and says what to install. It is never skipped.
//
// With BANKAPI_TEST_REQUIRE_CONTAINERS=1 only containers count, and images that are missing are pulled; with 0 none are
// used. The choice is printed once. A test process starts each kind of server at most once, on first use, and they end with it, even when
// it is killed (reaper.go). What a machine crash would lose is of no value here, so fsync is off.
package dbtest

import (
	"context"
	"fmt"
	"os"
	"time"
)

// The images that stand for the servers in production.
const (
	postgresImage = "postgres:17"
	redisImage    = "redis:8"
)

// patience bounds how long a server may take to answer; a loaded machine with two cores needs some.
const patience = 90 * time.Second

// instance is a server of ours. It keeps its address over stop, kill and start.
type instance interface {
	url() string
	stop() error
	kill() error
	start() error
	pause() error
	resume() error
}

// announce tells once per kind of server where it comes from.
func announce(kind, origin string) { fmt.Fprintf(os.Stderr, "dbtest: %s from %s\n", kind, origin) }

// await calls ping until it succeeds.
func await(ping func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no answer within %v: %w", patience, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
