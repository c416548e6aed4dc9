package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATE codes this package acts on.
const (
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeStartingUp    = "57P03"
)

const (
	maxAttempts = 6
	firstPause  = 4 * time.Millisecond // doubled each time, jittered: at most about 120 ms in all
)

// Beginner starts transactions: a *pgxpool.Pool, a *pgx.Conn or, as a savepoint, a pgx.Tx.
type Beginner interface {
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
}

// InTx runs fn in a transaction and commits it when fn returns nil; on an error or a panic it is rolled back.
// A transaction the database ended because of its neighbours (serialization failure, deadlock) is run again from the
// start, at most six times with growing, jittered pauses, so fn must have no effect outside tx. The last such error is
// returned when all attempts are used up: Retryable tells it from others.
func InTx(ctx context.Context, db Beginner, opts pgx.TxOptions, fn func(tx pgx.Tx) error) error {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		err := pgx.BeginTxFunc(ctx, db, opts, fn)
		if err == nil || !Retryable(err) {
			return err
		}
		if attempt == maxAttempts {
			return fmt.Errorf("transaction gave up after %d attempts: %w", attempt, err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause/2 + rand.N(pause)): //nolint:gosec // jitter is no secret
			pause *= 2
		}
	}
}

// Retryable reports whether err is the database ending a transaction that may succeed when it is run again.
func Retryable(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pgErr.Code == codeSerialization || pgErr.Code == codeDeadlock)
}
