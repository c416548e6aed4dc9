package idempotency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/id"
)

// State is how far a key has come.
type State string

// The states of a key. A store knows the first and the last; InProgress is for the process that runs the order to say.
const (
	Unknown    State = "unknown"
	InProgress State = "in_progress"
	Done       State = "done"
)

// Record is what is known of a key.
type Record struct {
	State    State
	Status   int   // of the stored answer; 0 unless Done
	Transfer id.ID // zero if the order was refused, or the key is not Done
}

// Store reads and purges the keys that the ledger wrote.
type Store struct{ Pool *pgxpool.Pool }

// Find returns what has been stored for a user's key in a scope, which is the method and the pattern of the route.
//
// Whoever wants the whole truth asks first whether the order is in flight (transfers.Service.InFlight) and then Find: the
// other way round, an order that commits between the two questions would seem unknown.
func (s Store) Find(ctx context.Context, user id.ID, scope, key string) (Record, error) {
	const query = `SELECT status, transfer_id FROM idempotency_keys WHERE user_id = $1 AND scope = $2 AND key = $3`
	record := Record{State: Done}
	var transfer pgtype.UUID
	err := s.Pool.QueryRow(ctx, query, user, scope, key).Scan(&record.Status, &transfer)
	if errors.Is(err, pgx.ErrNoRows) {
		return Record{State: Unknown}, nil
	}
	if err != nil {
		return Record{}, fmt.Errorf("find idempotency key: %w", err)
	}
	record.Transfer = transfer.Bytes
	return record, nil
}

// Now is the time by which keys are dated: the server's, so that no instance's clock can end their time early.
func (s Store) Now(ctx context.Context) (now time.Time, err error) {
	if err := s.Pool.QueryRow(ctx, "SELECT now()").Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("ask the server for the time: %w", err)
	}
	return now, nil
}

// Purge forgets at most batch keys of the moments from..to, the oldest first, and returns how many. Fewer than batch means
// that none is left but those that somebody else is just forgetting; else go on from where it says.
//
// It waits for no row, and nobody waits for it but who would store one of these keys again. Small batches keep it short.
// Going on, instead of starting over, saves it a walk past what it has deleted and vacuum has not yet removed.
//
// A forgotten key executes again: keep keys for as long as clients may repeat themselves, at least 24 hours.
func (s Store) Purge(ctx context.Context, from, to time.Time, batch int) (n int64, goOn time.Time, err error) {
	const query = `
WITH old AS (
    SELECT ctid, created_at
    FROM idempotency_keys
    WHERE created_at >= $1 AND created_at < $2
    ORDER BY created_at
    LIMIT $3
    FOR UPDATE SKIP LOCKED
), forgotten AS (
    DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(SELECT ctid FROM old))
)
SELECT count(*), coalesce(max(created_at), $1) FROM old`
	if err := s.Pool.QueryRow(ctx, query, from, to, batch).Scan(&n, &goOn); err != nil {
		return 0, from, fmt.Errorf("purge idempotency keys: %w", err)
	}
	return n, goOn, nil
}
