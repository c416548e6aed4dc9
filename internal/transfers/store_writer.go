package transfers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
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

// readAccounts leaves system accounts out: to customers they do not exist.
func (b *book) readAccounts(rows pgx.Rows) error {
	for rows.Next() {
		var accountID AccountID
		var owner pgtype.UUID
		var a account
		if err := rows.Scan(&accountID, &owner, &a.currency, &a.frozen, &a.balance, &a.sequence, &a.lastTransfer); err != nil {
			return err
		}
		if a.owner = owner.Bytes; owner.Valid {
			b.accounts[accountID] = &a
		}
	}
	return rows.Err()
}

func (b *book) readAnswers(rows pgx.Rows) error {
	for rows.Next() {
		var n name
		var a answer
		var transfer pgtype.UUID
		if err := rows.Scan(&n.owner, &n.scope, &n.key, &a.fingerprint, &a.receipt.Status, &a.receipt.Body, &transfer); err != nil {
			return err
		}
		a.receipt.Transfer = transfer.Bytes
		b.answers[n] = a
	}
	return rows.Err()
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

// postings turns the rows of transfers into columns.
func postings(verdicts []verdict) []any {
	var (
		ids                               []TransferID
		from, to                          []AccountID
		amounts, fromBalances, toBalances []Amount
		currencies, memos                 []string
		fromSequences, toSequences        []int64
	)
	for _, v := range verdicts {
		p := v.posting
		if p == nil {
			continue
		}
		ids, from, to, amounts = append(ids, p.ID), append(from, p.From), append(to, p.To), append(amounts, p.Amount)
		currencies, memos = append(currencies, p.Currency), append(memos, p.Memo)
		fromSequences, fromBalances = append(fromSequences, p.fromSequence), append(fromBalances, p.fromBalance)
		toSequences, toBalances = append(toSequences, p.toSequence), append(toBalances, p.toBalance)
	}
	if len(ids) == 0 {
		return nil
	}
	return []any{ids, from, to, amounts, currencies, memos, fromSequences, fromBalances, toSequences, toBalances}
}

// answers turns the rows of idempotency_keys into columns.
func answers(orders []*Order, verdicts []verdict) []any {
	var (
		owners               []OwnerID
		scopes, keys         []string
		fingerprints, bodies [][]byte
		statuses             []int16
		transfers            []pgtype.UUID
	)
	for i, v := range verdicts {
		if !v.keep {
			continue
		}
		o, r := orders[i], v.receipt
		owners, scopes, keys = append(owners, o.Owner), append(scopes, o.Scope), append(keys, o.Key)
		fingerprints, bodies = append(fingerprints, o.Fingerprint), append(bodies, r.Body)
		statuses = append(statuses, int16(r.Status))
		transfers = append(transfers, pgtype.UUID{Bytes: r.Transfer, Valid: r.Transfer != TransferID{}})
	}
	if len(owners) == 0 {
		return nil
	}
	return []any{owners, scopes, keys, fingerprints, statuses, bodies, transfers}
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
