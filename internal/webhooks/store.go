package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/id"
)

// store is the SQL of this package. Its errors name no secret.
type store struct {
	pool *pgxpool.Pool
}

const tryLock = `SELECT pg_try_advisory_lock(hashtext('bankapi webhooks'))`

// lead reports whether conn is now the one that sends. It stays so until it closes.
func lead(ctx context.Context, conn *pgx.Conn) (leads bool, err error) {
	err = conn.QueryRow(ctx, tryLock).Scan(&leads)
	return leads, err
}

const (
	// A hook knows what was complete when it was made. All that was complete for all of them needs no reading.
	selectStart = `
SELECT GREATEST(xid, first), CASE WHEN xid >= first THEN transfer_id ELSE '00000000-0000-0000-0000-000000000000' END
FROM webhook_cursor, (SELECT min(pg_snapshot_xmin(since)::text::bigint) AS first FROM webhooks) AS hooks
WHERE first IS NOT NULL`

	// One statement sees one snapshot: the horizon, the transfers below it and the hooks.
	fanOut = `
WITH page AS MATERIALIZED (
	SELECT id, xid, from_account, to_account
	FROM transfers
	WHERE xid >= $1
	  AND xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
	  AND (xid, id) > ($1, $2)
	ORDER BY xid, id
	LIMIT $3
), added AS (
	INSERT INTO webhook_deliveries (webhook_id, transfer_id, next_at)
	SELECT DISTINCT h.id, p.id, $4::timestamptz
	FROM page AS p
	CROSS JOIN LATERAL (VALUES (p.from_account), (p.to_account)) AS side (account)
	JOIN accounts AS a ON a.id = side.account
	JOIN webhooks AS h ON h.user_id = a.owner_id AND NOT pg_visible_in_snapshot(p.xid::text::xid8, h.since)
	ON CONFLICT DO NOTHING
), last AS (
	SELECT xid, id
	FROM page
	ORDER BY xid DESC, id DESC
	LIMIT 1
)
UPDATE webhook_cursor AS c
SET xid = last.xid, transfer_id = last.id
FROM last
RETURNING (SELECT count(*) FROM page)`
)

// fanOut turns up to most transfers of the outbox into deliveries, and returns how many it read.
func (s store) fanOut(ctx context.Context, conn *pgx.Conn, now time.Time, most int) (read int, err error) {
	var xid int64
	var transfer id.ID
	err = conn.QueryRow(ctx, selectStart).Scan(&xid, &transfer)
	if err == nil {
		err = conn.QueryRow(ctx, fanOut, xid, transfer, most, now).Scan(&read)
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == "23503" {
		return 0, nil // a hook was deleted meanwhile: the next look does without it
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return read, err
}

// delivery is one event to be told to one hook.
type delivery struct {
	hook     id.ID
	url      string
	partner  string
	secret   []byte
	attempts int // failed so far
	row      row
}

const selectDue = `
SELECT h.id, h.url, h.partner, h.secret, d.attempts, t.id, t.from_account, t.to_account, t.amount, t.currency, t.memo, t.created_at
FROM webhooks AS h
CROSS JOIN LATERAL (
	SELECT transfer_id, attempts, next_at
	FROM webhook_deliveries
	WHERE webhook_id = h.id
	  AND dead_at IS NULL
	  AND next_at <= $1
	ORDER BY next_at, transfer_id
	LIMIT $2
) AS d
JOIN transfers AS t ON t.id = d.transfer_id
WHERE h.not_before IS NULL
   OR h.not_before <= $1
ORDER BY d.next_at, t.id`

// due returns what is to be sent now, at most so many of each hook.
func (s store) due(ctx context.Context, conn *pgx.Conn, now time.Time, each int) ([]delivery, error) {
	rows, _ := conn.Query(ctx, selectDue, now, each) // CollectRows returns the error
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (d delivery, err error) {
		t := &d.row
		err = r.Scan(&d.hook, &d.url, &d.partner, &d.secret, &d.attempts, &t.id, &t.from, &t.to, &t.amount, &t.currency, &t.memo, &t.createdAt)
		return d, err
	})
}

const (
	countDeliveries = `
SELECT count(*) FILTER (WHERE d.dead_at IS NULL AND w.ready), count(*) FILTER (WHERE d.dead_at IS NULL AND NOT w.ready), count(d.dead_at)
FROM webhook_deliveries AS d
JOIN webhooks AS h ON h.id = d.webhook_id
CROSS JOIN LATERAL (SELECT d.next_at <= $1 AND (h.not_before IS NULL OR h.not_before <= $1) AS ready) AS w`

	// Transfers above the horizon count too: a transaction that stays open holds the reader up.
	selectOldestUnread = `
SELECT min(created_at)
FROM transfers
WHERE xid >= $1
  AND (xid, id) > ($1, $2)`
)

// backlog counts what is still to be done.
func (s store) backlog(ctx context.Context, conn *pgx.Conn, now time.Time) (b Backlog, err error) {
	if err := conn.QueryRow(ctx, countDeliveries, now).Scan(&b.Due, &b.Waiting, &b.Dead); err != nil {
		return Backlog{}, err
	}
	var xid int64
	var transfer id.ID
	var oldest *time.Time
	err = conn.QueryRow(ctx, selectStart).Scan(&xid, &transfer)
	if err == nil {
		err = conn.QueryRow(ctx, selectOldestUnread, xid, transfer).Scan(&oldest)
	}
	if oldest != nil {
		b.Lag = max(now.Sub(*oldest), 0)
	}
	if errors.Is(err, pgx.ErrNoRows) { // no hooks: nobody waits for the outbox
		err = nil
	}
	return b, err
}

const deleteDelivery = `
DELETE FROM webhook_deliveries
WHERE webhook_id = $1
  AND transfer_id = $2`

func (s store) taken(ctx context.Context, d delivery) error {
	_, err := s.pool.Exec(ctx, deleteDelivery, d.hook, d.row.id)
	return err
}

const (
	updateFailed = `
UPDATE webhook_deliveries
SET attempts = $3, next_at = $4, dead_at = $5
WHERE webhook_id = $1
  AND transfer_id = $2`

	leaveAlone = `
UPDATE webhooks
SET not_before = $2
WHERE id = $1`
)

// failed notes when to try again. dead is nil unless it is given up; pause is nil unless the hook is to be left alone.
func (s store) failed(ctx context.Context, d delivery, next time.Time, dead, pause *time.Time) error {
	if pause != nil {
		if _, err := s.pool.Exec(ctx, leaveAlone, d.hook, pause); err != nil {
			return fmt.Errorf("leave alone: %w", err)
		}
	}
	_, err := s.pool.Exec(ctx, updateFailed, d.hook, d.row.id, d.attempts+1, next, dead)
	return err
}

const deleteDead = `
DELETE FROM webhook_deliveries
WHERE (webhook_id, transfer_id) IN (
	SELECT webhook_id, transfer_id
	FROM webhook_deliveries
	WHERE dead_at <= $1
	ORDER BY dead_at
	LIMIT $2
	FOR UPDATE SKIP LOCKED
)`

func (s store) deleteDead(ctx context.Context, before time.Time, batch int) (int64, error) {
	tag, err := s.pool.Exec(ctx, deleteDead, before, batch)
	return tag.RowsAffected(), err
}
