package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/ratelimit"
)

// Store is a ratelimit.Store in PostgreSQL. It is safe for concurrent use.
type Store struct {
	pool *pgxpool.Pool

	now  func() time.Time // a test's clock; nil for the database's
	here func() time.Time // says between which boundaries of a calendar the database decides
}

var _ ratelimit.Store = (*Store)(nil)

// New returns a store on a migrated database, whose default isolation must be READ COMMITTED.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool, here: time.Now} }

const selectTake = `
SELECT allowed, remaining, wait, reset, oldest
FROM ratelimit_take(` + packedClaims + `, $8, $9, $10, $11)`

// Take implements ratelimit.Store in one round trip.
func (s *Store) Take(ctx context.Context, claims []ratelimit.Claim, out []ratelimit.Status) error {
	b, err := s.pack(claims, out)
	if err != nil || len(claims) == 0 {
		return err
	}
	args := append(b.arguments(), b.of, b.ids, b.units, s.clock())
	if err := s.answer(ctx, b, out, selectTake, args); err != nil {
		return fmt.Errorf("postgres limits: take: %w", err)
	}
	return nil
}

const selectPeek = `
SELECT allowed, remaining, wait, reset, oldest
FROM ratelimit_peek(` + packedClaims + `, $8)`

// Peek implements ratelimit.Store in one round trip.
func (s *Store) Peek(ctx context.Context, claims []ratelimit.Claim, out []ratelimit.Status) error {
	b, err := s.pack(claims, out)
	if err != nil || len(claims) == 0 {
		return err
	}
	if err := s.answer(ctx, b, out, selectPeek, append(b.arguments(), s.clock())); err != nil {
		return fmt.Errorf("postgres limits: peek: %w", err)
	}
	return nil
}

// answer asks for a status per sum and writes each claim that of its sum.
func (s *Store) answer(ctx context.Context, b *batch, out []ratelimit.Status, sql string, args []any) error {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	statuses, err := pgx.AppendRows(make([]ratelimit.Status, 0, len(b.sums)), rows, scanStatus)
	if err != nil {
		return err
	}
	if len(statuses) != len(b.sums) {
		return fmt.Errorf("%d answers for %d claims", len(statuses), len(b.sums))
	}
	for i, n := range b.sumOf {
		out[i] = statuses[n]
		out[i].Never = b.sums[n].cost > b.sums[n].capacity
	}
	return nil
}

func scanStatus(row pgx.CollectableRow) (st ratelimit.Status, err error) {
	var wait, reset, oldest int64
	err = row.Scan(&st.Allowed, &st.Remaining, &wait, &reset, &oldest)
	st.Wait = time.Duration(wait) * time.Microsecond
	st.Reset = time.Duration(reset) * time.Microsecond
	st.Oldest = time.Duration(oldest) * time.Microsecond
	return st, err
}

const selectGive = `SELECT ratelimit_give(` + packedClaims + `, $8, $9)`

// Give implements ratelimit.Store in one round trip.
func (s *Store) Give(ctx context.Context, claims []ratelimit.Claim) error {
	b, err := s.packGives(claims)
	if err != nil || len(b.sums) == 0 {
		return err
	}
	if _, err := s.pool.Exec(ctx, selectGive, append(b.arguments(), b.ids, s.clock())...); err != nil {
		return fmt.Errorf("postgres limits: give: %w", err)
	}
	return nil
}

const selectReset = `SELECT ratelimit_reset($1)`

// Reset implements ratelimit.Store in one round trip. Reservations of the keys are forgotten too.
func (s *Store) Reset(ctx context.Context, claims []ratelimit.Claim) error {
	b, err := s.pack(claims, make([]ratelimit.Status, len(claims)))
	if err != nil || len(claims) == 0 {
		return err
	}
	if _, err := s.pool.Exec(ctx, selectReset, b.keys()); err != nil {
		return fmt.Errorf("postgres limits: reset: %w", err)
	}
	return nil
}

// clock is the time in microseconds for the functions, or NULL for the database's own.
func (s *Store) clock() *int64 {
	if s.now == nil {
		return nil
	}
	micros := s.now().UnixMicro()
	return &micros
}
