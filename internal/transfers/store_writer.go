package transfers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// goodbye bounds the clean-up of a connection that may be broken.
const goodbye = time.Second

// writer is the connection that writes batches. It belongs to one goroutine.
type writer struct {
	config *pgx.ConnConfig
	conn   *pgx.Conn // nil until needed and after a failure
}

// newWriter prepares a connection apart from the pool. Its planner settings keep a plan that was made while the tables
// were small from staying when they have grown; its time-outs free the accounts should this process stop in mid-batch.
func newWriter(pool *pgxpool.Pool) *writer {
	config := pool.Config().ConnConfig.Copy()
	for setting, value := range map[string]string{
		"application_name":                    "bankapi-ledger",
		"enable_seqscan":                      "off",
		"enable_bitmapscan":                   "off",
		"enable_hashjoin":                     "off",
		"enable_mergejoin":                    "off",
		"lock_timeout":                        "3s",
		"idle_in_transaction_session_timeout": "5s",
	} {
		config.RuntimeParams[setting] = value
	}
	return &writer{config: config}
}

// Locking in the order of ids keeps the writers of several instances from deadlocking.
const lockAccounts = `
SELECT id, owner_id, currency, status = 'frozen', balance, sequence, last_transfer
FROM accounts
WHERE id = ANY ($1)
ORDER BY id
FOR NO KEY UPDATE`

const findAnswers = `
SELECT user_id, scope, key, fingerprint, status, body, transfer_id
FROM unnest($1::uuid[], $2::text[], $3::text[]) AS asked (asked_user, asked_scope, asked_key)
JOIN idempotency_keys ON user_id = asked_user AND scope = asked_scope AND key = asked_key`

// begin opens the transaction, locks the accounts and then, each statement of READ COMMITTED seeing what has been
// committed before it, looks the keys up: one round trip. After an error the transaction is gone.
func (w *writer) begin(ctx context.Context, orders []*Order) (*book, error) {
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	b := &book{accounts: make(map[AccountID]*account, 2*len(orders)), answers: make(map[name]answer, len(orders))}
	owners, scopes, keys := make([]OwnerID, len(orders)), make([]string, len(orders)), make([]string, len(orders))
	for i, o := range orders {
		b.accounts[o.From], b.accounts[o.To] = nil, nil
		owners[i], scopes[i], keys[i] = o.Owner, o.Scope, o.Key
	}
	ids := make([]AccountID, 0, len(b.accounts))
	for accountID := range b.accounts {
		ids = append(ids, accountID)
	}
	var batch pgx.Batch
	batch.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	batch.Queue(lockAccounts, ids).Query(b.readAccounts)
	batch.Queue(findAnswers, owners, scopes, keys).Query(b.readAnswers)
	if err := w.conn.SendBatch(ctx, &batch).Close(); err != nil {
		w.close()
		return nil, fmt.Errorf("lock accounts: %w", err)
	}
	return b, nil
}

// insertTransfers also moves the balances: see ledger_post in the migration.
const insertTransfers = `
INSERT INTO transfers (id, from_account, to_account, amount, currency, memo, from_sequence, from_balance, to_sequence, to_balance, created_at)
SELECT *, $11::timestamptz
FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])`

const insertAnswers = `
INSERT INTO idempotency_keys (user_id, scope, key, fingerprint, status, body, transfer_id, created_at)
SELECT *, $8::timestamptz
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::smallint[], $6::bytea[], $7::uuid[])`

// commit writes what the verdicts say and commits: one round trip. After an error the transaction is gone, or, if the
// connection broke, on its way to be; whether it committed is then unknown.
func (w *writer) commit(ctx context.Context, now time.Time, orders []*Order, verdicts []verdict) error {
	var batch pgx.Batch
	if args := postings(verdicts); args != nil {
		batch.Queue(insertTransfers, append(args, now)...)
	}
	if args := answers(orders, verdicts); args != nil {
		batch.Queue(insertAnswers, append(args, now)...)
	}
	if batch.Len() == 0 {
		return w.rollback(ctx)
	}
	committed := false
	batch.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		committed = tag.String() == "COMMIT"
		return nil
	})
	err := w.conn.SendBatch(ctx, &batch).Close()
	if err == nil && !committed {
		err = errors.New("the transaction was rolled back")
	}
	if err != nil {
		w.close()
		return fmt.Errorf("commit transfers: %w", err)
	}
	return nil
}

func (w *writer) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, w.config)
	if err != nil {
		return fmt.Errorf("connect the ledger's writer: %w", err)
	}
	w.conn = conn
	return nil
}

// rollback lets the locks go where nothing is to be written.
func (w *writer) rollback(ctx context.Context) error {
	if _, err := w.conn.Exec(ctx, "ROLLBACK"); err != nil {
		w.close()
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}

// close ends the connection, and with it the transaction, after every error: a new one also sheds plans that no longer
// fit and a server that has become a standby.
func (w *writer) close() {
	if w.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	_ = w.conn.Close(ctx)
	w.conn = nil
}

// isFinal reports whether trying again is of no use: the data or the statement is at fault. Everything else passes:
// a lost connection, a restart, a deadlock, a lock held too long, and a key (23505) that another instance took first.
func isFinal(err error) bool {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code == "23505" {
		return false
	}
	for _, class := range []string{"22", "23", "42"} {
		if strings.HasPrefix(pgErr.Code, class) {
			return true
		}
	}
	return false
}
