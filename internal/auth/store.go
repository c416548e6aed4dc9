package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/id"
	"example.com/bankapi/internal/postgres"
)

// store is the SQL of this package. Its errors name no address, no hash and no token.
type store struct {
	pool *pgxpool.Pool
}

var errNotFound = errors.New("no such row")

const insertUser = `
INSERT INTO users (id, email, password_hash, plan, created_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (email) DO NOTHING`

// insertUser lets a taken address be no error of the database, which would write the address into its log.
func (s store) insertUser(ctx context.Context, u User, hash string) error {
	tag, err := s.pool.Exec(ctx, insertUser, u.ID, u.Email, hash, u.Plan, u.CreatedAt)
	if err == nil && tag.RowsAffected() == 0 {
		return ErrEmailTaken
	}
	return err
}

const selectUser = `
SELECT id, email, plan, created_at
FROM users
WHERE id = $1`

func (s store) user(ctx context.Context, user UserID) (u User, err error) {
	err = found(s.pool.QueryRow(ctx, selectUser, user).Scan(&u.ID, &u.Email, &u.Plan, &u.CreatedAt))
	u.CreatedAt = u.CreatedAt.UTC()
	return u, err
}

const selectUserByEmail = `
SELECT id, email, plan, created_at, password_hash
FROM users
WHERE email = $1`

func (s store) userByEmail(ctx context.Context, email string) (u User, hash string, err error) {
	row := s.pool.QueryRow(ctx, selectUserByEmail, email)
	err = found(row.Scan(&u.ID, &u.Email, &u.Plan, &u.CreatedAt, &hash))
	u.CreatedAt = u.CreatedAt.UTC()
	return u, hash, err
}

const updateHash = `
UPDATE users
SET password_hash = $3
WHERE id = $1
  AND password_hash = $2`

// replaceHash changes nothing if the password has been changed meanwhile.
func (s store) replaceHash(ctx context.Context, user UserID, from, to string) error {
	_, err := s.pool.Exec(ctx, updateHash, user, from, to)
	return err
}

type sessionRow struct {
	id               id.ID
	user             UserID
	passwordHash     string // that the user has proved to know
	created, expires time.Time
}

const (
	lockVerified = `
SELECT id
FROM users
WHERE id = $1
  AND password_hash = $2
FOR NO KEY UPDATE`

	insertSession = `
INSERT INTO sessions (id, user_id, token_hash, created_at, last_used_at, expires_at)
VALUES ($1, $2, $3, $4, $4, $5)`

	endSurplusSessions = `
DELETE FROM sessions
WHERE id IN (
	SELECT id
	FROM sessions
	WHERE user_id = $1
	  AND id <> $2
	ORDER BY last_used_at DESC, created_at DESC
	OFFSET $3
)
RETURNING token_hash`
)

// insertSession takes turns with a change of the password: either the change sees the session and ends it, or the session
// sees the change, and is errNotFound. It ends those that the user has beyond [MaxSessions] and returns their hashes.
func (s store) insertSession(ctx context.Context, row sessionRow, hash tokenHash) (ended []tokenHash, err error) {
	err = postgres.InTx(ctx, s.pool, pgx.TxOptions{}, func(tx pgx.Tx) error {
		var locked UserID
		if err := found(tx.QueryRow(ctx, lockVerified, row.user, row.passwordHash).Scan(&locked)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, insertSession, row.id, row.user, hash[:], row.created, row.expires); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, endSurplusSessions, row.user, row.id, MaxSessions-1) // CollectRows returns the error
		ended, err = pgx.CollectRows(rows, rowToHash)
		return err
	})
	return ended, err
}

const selectSession = `
SELECT u.id, u.email, u.plan, s.id, s.last_used_at, s.expires_at
FROM sessions AS s
JOIN users AS u ON u.id = s.user_id
WHERE s.token_hash = $1`

const selectAPIKey = `
SELECT u.id, u.email, u.plan, k.id
FROM api_keys AS k
JOIN users AS u ON u.id = k.user_id
WHERE k.token_hash = $1`

func (s store) credential(ctx context.Context, kind Kind, hash tokenHash) (credential, error) {
	c := credential{principal: Principal{Kind: kind}}
	p := &c.principal
	if kind == APIKey {
		row := s.pool.QueryRow(ctx, selectAPIKey, hash[:])
		err := found(row.Scan(&p.User, &p.Email, &p.Plan, &p.Credential))
		return c, err
	}
	row := s.pool.QueryRow(ctx, selectSession, hash[:])
	err := found(row.Scan(&p.User, &p.Email, &p.Plan, &p.Credential, &c.lastUsed, &c.expires))
	return c, err
}

const updateLastUse = `
UPDATE sessions
SET last_used_at = $2
WHERE id = $1
  AND last_used_at <= $3`

// noteUse writes nothing if another instance has just done so.
func (s store) noteUse(ctx context.Context, session id.ID, now time.Time) error {
	_, err := s.pool.Exec(ctx, updateLastUse, session, now, now.Add(-noteUseEvery))
	return err
}

const deleteSession = `
DELETE FROM sessions
WHERE id = $1
RETURNING token_hash`

func (s store) deleteSession(ctx context.Context, session id.ID) (tokenHash, error) {
	return scanHash(s.pool.QueryRow(ctx, deleteSession, session))
}

const deleteIdleSessions = `
DELETE FROM sessions
WHERE id IN (
	SELECT id
	FROM sessions
	WHERE last_used_at <= $1
	ORDER BY last_used_at
	LIMIT $2
	FOR UPDATE SKIP LOCKED
)`

// deleteIdleSessions also finds the sessions that are too old: they too have not been used for an hour, an hour later.
func (s store) deleteIdleSessions(ctx context.Context, unusedSince time.Time, batch int) (int64, error) {
	tag, err := s.pool.Exec(ctx, deleteIdleSessions, unusedSince, batch)
	return tag.RowsAffected(), err
}

const lockUser = `
SELECT id
FROM users
WHERE id = $1
FOR NO KEY UPDATE`

const insertAPIKey = `
INSERT INTO api_keys (id, user_id, name, token_hash, prefix, last4, created_at)
SELECT $1, $2, $3, $4, $5, $6, $7
WHERE (SELECT count(*) FROM api_keys WHERE user_id = $2) < $8`

// insertAPIKey counts under the user's lock, so that parallel requests cannot pass the limit together.
func (s store) insertAPIKey(ctx context.Context, user UserID, k APIKeyInfo, hash tokenHash) error {
	return postgres.InTx(ctx, s.pool, pgx.TxOptions{}, func(tx pgx.Tx) error {
		var locked UserID
		if err := found(tx.QueryRow(ctx, lockUser, user).Scan(&locked)); err != nil {
			return gone(err)
		}
		tag, err := tx.Exec(ctx, insertAPIKey, k.ID, user, k.Name, hash[:], k.Prefix, k.Last4, k.CreatedAt, MaxAPIKeys)
		if err == nil && tag.RowsAffected() == 0 {
			return ErrTooManyAPIKeys
		}
		return err
	})
}

const selectAPIKeys = `
SELECT id, name, prefix, last4, created_at
FROM api_keys
WHERE user_id = $1
ORDER BY id DESC`

func (s store) apiKeys(ctx context.Context, user UserID) ([]APIKeyInfo, error) {
	rows, _ := s.pool.Query(ctx, selectAPIKeys, user) // CollectRows returns the error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (k APIKeyInfo, err error) {
		err = row.Scan(&k.ID, &k.Name, &k.Prefix, &k.Last4, &k.CreatedAt)
		k.CreatedAt = k.CreatedAt.UTC()
		return k, err
	})
}

const deleteAPIKey = `
DELETE FROM api_keys
WHERE id = $1
  AND user_id = $2
RETURNING token_hash`

func (s store) deleteAPIKey(ctx context.Context, user UserID, key id.ID) (tokenHash, error) {
	return scanHash(s.pool.QueryRow(ctx, deleteAPIKey, key, user))
}

func scanHash(row pgx.Row) (hash tokenHash, err error) {
	var raw []byte
	err = found(row.Scan(&raw))
	copy(hash[:], raw)
	return hash, err
}

func found(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return errNotFound
	}
	return err
}

// gone turns a missing user into what it means for the caller: the credential went with it.
func gone(err error) error {
	if errors.Is(err, errNotFound) {
		return fmt.Errorf("%w: the user is gone", ErrInvalidToken)
	}
	return err
}
