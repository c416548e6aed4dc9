// Package postgres joins the program to its database: the pool, transactions that are retried, and the schema.
//
// Features take the *pgxpool.Pool that Open returns and keep their SQL to themselves. Open first.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Options adjusts a pool. The zero value is fit for serving requests.
type Options struct {
	AppName          string        // as seen in pg_stat_activity; "" means bankapi
	MaxConns         int32         // 0 means 16
	StatementTimeout time.Duration // the server ends a longer statement; 0 means 10 s
	Patience         time.Duration // how long Open waits for a server that does not answer yet; 0 means one try
}

// What a connection may cost before it is given up.
const (
	defaultMaxConns         = 16
	defaultStatementTimeout = 10 * time.Second
	idleInTransaction       = 30 * time.Second // a transaction forgotten by its owner holds locks no longer than this
	connectTimeout          = 5 * time.Second
	retryPause              = 250 * time.Millisecond
)

// Open returns a pool that has reached the server at url. What url itself says (pool_max_conns, statement_timeout,
// application_name, ...) goes before opts. Passwords appear in no error.
func Open(ctx context.Context, url string, opts Options) (*pgxpool.Pool, error) {
	cfg, err := poolConfig(url, opts)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database pool: %w", err)
	}
	if err := reach(ctx, pool, opts.Patience); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

func poolConfig(url string, opts Options) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	if !strings.Contains(url, "pool_max_conns") {
		cfg.MaxConns = orDefault(opts.MaxConns, defaultMaxConns)
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = connectTimeout
	}
	cfg.MaxConnLifetimeJitter = 10 * time.Minute // instances that started together do not reconnect together

	params := cfg.ConnConfig.RuntimeParams
	setDefault(params, "application_name", orDefault(opts.AppName, "bankapi"))
	setDefault(params, "timezone", "UTC")
	setDefault(params, "statement_timeout", millis(orDefault(opts.StatementTimeout, defaultStatementTimeout)))
	setDefault(params, "idle_in_transaction_session_timeout", millis(idleInTransaction))
	return cfg, nil
}

// reach pings until the server answers or patience ends. A server that answers "no" is not asked again, except while
// it starts up.
func reach(ctx context.Context, pool *pgxpool.Pool, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		err := pool.Ping(ctx)
		if err == nil {
			return nil
		}
		refusal, answered := errors.AsType[*pgconn.PgError](err)
		if answered && refusal.Code != codeStartingUp || time.Now().After(deadline) {
			return fmt.Errorf("reach database: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("reach database: %w", ctx.Err())
		case <-time.After(retryPause):
		}
	}
}

func setDefault(params map[string]string, name, value string) {
	if _, ok := params[name]; !ok {
		params[name] = value
	}
}

func millis(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
