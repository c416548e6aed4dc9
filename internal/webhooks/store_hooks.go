package webhooks

import (
	"context"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/id"
	"example.com/bankapi/internal/postgres"
)

const lockUser = `
SELECT id
FROM users
WHERE id = $1
FOR NO KEY UPDATE`

const insertHook = `
INSERT INTO webhooks (id, user_id, url, partner, secret, created_at)
SELECT $1, $2, $3, $4, $5, $6
WHERE (SELECT count(*) FROM webhooks WHERE user_id = $2) < $7`

// insertHook counts under the user's lock, so that parallel requests cannot pass the limit together.
func (s store) insertHook(ctx context.Context, owner OwnerID, h Hook, partner string, secret []byte) error {
	return postgres.InTx(ctx, s.pool, pgx.TxOptions{}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockUser, owner); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, insertHook, h.ID, owner, h.URL, partner, secret, h.CreatedAt, MaxHooks)
		if err == nil && tag.RowsAffected() == 0 {
			return ErrTooManyWebhooks
		}
		return err
	})
}

const selectHooks = `
SELECT id, url, created_at
FROM webhooks
WHERE user_id = $1
ORDER BY id DESC`

func (s store) hooks(ctx context.Context, owner OwnerID) ([]Hook, error) {
	rows, _ := s.pool.Query(ctx, selectHooks, owner) // CollectRows returns the error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (h Hook, err error) {
		err = row.Scan(&h.ID, &h.URL, &h.CreatedAt)
		h.CreatedAt = h.CreatedAt.UTC()
		return h, err
	})
}

const deleteHook = `
DELETE FROM webhooks
WHERE id = $1
  AND user_id = $2`

func (s store) deleteHook(ctx context.Context, owner OwnerID, hook id.ID) error {
	tag, err := s.pool.Exec(ctx, deleteHook, hook, owner)
	if err == nil && tag.RowsAffected() == 0 {
		return ErrWebhookNotFound
	}
	return err
}
