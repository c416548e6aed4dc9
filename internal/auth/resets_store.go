package auth

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/postgres"
)

const insertReset = `
INSERT INTO password_resets (token_hash, user_id, created_at, expires_at)
VALUES ($1, $2, $3, $4)`

func (s store) insertReset(ctx context.Context, user UserID, hash tokenHash, now, expires time.Time) error {
	_, err := s.pool.Exec(ctx, insertReset, hash[:], user, now, expires)
	return err
}

const selectEmailOfReset = `
SELECT u.email
FROM password_resets AS r
JOIN users AS u ON u.id = r.user_id
WHERE r.token_hash = $1
  AND r.expires_at > $2`

func (s store) emailOfReset(ctx context.Context, hash tokenHash, now time.Time) (email string, err error) {
	err = found(s.pool.QueryRow(ctx, selectEmailOfReset, hash[:], now).Scan(&email))
	return email, err
}

// The user's row comes first, so that two resets of one user take turns instead of waiting for each other.
const (
	updatePassword = `
UPDATE users
SET password_hash = $3
WHERE id = (SELECT user_id FROM password_resets WHERE token_hash = $1 AND expires_at > $2)
RETURNING id`

	spendResets = `
DELETE FROM password_resets
WHERE user_id = $1
RETURNING token_hash`

	deleteSessionsOf = `
DELETE FROM sessions
WHERE user_id = $1
RETURNING token_hash`
)

// resetPassword replaces the password of a token's user, spends all of the user's tokens and ends all sessions, whose
// hashes it returns. A token that another request has spent meanwhile is errNotFound, and nothing is changed.
func (s store) resetPassword(ctx context.Context, hash tokenHash, password string, now time.Time) (ended []tokenHash, err error) {
	err = postgres.InTx(ctx, s.pool, pgx.TxOptions{}, func(tx pgx.Tx) error {
		var user UserID
		if err := found(tx.QueryRow(ctx, updatePassword, hash[:], now, password).Scan(&user)); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, spendResets, user) // CollectRows returns the error
		tokens, err := pgx.CollectRows(rows, rowToHash)
		if err != nil {
			return err
		}
		if !slices.Contains(tokens, hash) {
			return errNotFound
		}
		rows, _ = tx.Query(ctx, deleteSessionsOf, user)
		ended, err = pgx.CollectRows(rows, rowToHash)
		return err
	})
	return ended, err
}

func rowToHash(row pgx.CollectableRow) (tokenHash, error) { return scanHash(row) }

const deleteExpiredResets = `
DELETE FROM password_resets
WHERE token_hash IN (
	SELECT token_hash
	FROM password_resets
	WHERE expires_at <= $1
	ORDER BY expires_at
	LIMIT $2
	FOR UPDATE SKIP LOCKED
)`

func (s store) deleteExpiredResets(ctx context.Context, now time.Time, batch int) (int64, error) {
	tag, err := s.pool.Exec(ctx, deleteExpiredResets, now, batch)
	return tag.RowsAffected(), err
}
