package pgstore

import (
	"context"
	"fmt"
)

// Rows that somebody is writing are passed over, so the purge waits for nobody, and whoever waits for it waits for one
// short batch. A row that counts again by the time it is locked is kept: PostgreSQL tests the condition once more.
const deletePurge = `
WITH ended AS (
	SELECT ratelimit_now($2) AS now
), counts AS (
	DELETE FROM ratelimit_counts
	WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM ratelimit_counts
		WHERE until <= (SELECT now FROM ended)
		ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED))
	RETURNING 1
), entries AS (
	DELETE FROM ratelimit_log
	WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM ratelimit_log
		WHERE until <= (SELECT now FROM ended)
		ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED))
	RETURNING 1
), reservations AS (
	DELETE FROM ratelimit_reservations
	WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM ratelimit_reservations
		WHERE until <= (SELECT now FROM ended)
		ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED))
	RETURNING 1
)
SELECT (SELECT count(*) FROM counts) + (SELECT count(*) FROM entries) + (SELECT count(*) FROM reservations)`

// Purge deletes rows that no longer count, at most batch of each table, and says how many went. Call it again while it
// returns as many as batch.
func (s *Store) Purge(ctx context.Context, batch int) (int64, error) {
	var deleted int64
	if err := s.pool.QueryRow(ctx, deletePurge, batch, s.clock()).Scan(&deleted); err != nil {
		return 0, fmt.Errorf("postgres limits: purge: %w", err)
	}
	return deleted, nil
}
