package transfers

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// writer is the connection that writes batches. It belongs to one goroutine. Two batches may be on their way at a time; the
// server then has something to do while the answers to the first are read and the next one is judged:
//
//	--> INSERT transfers, INSERT keys, sync       a batch that was foreseen
//	--> BEGIN, lock accounts, look up keys, sync; INSERT transfers, INSERT keys, COMMIT, sync       a batch that was not
type writer struct {
	config    *pgx.ConnConfig
	conn      *pgx.Conn                               // nil until needed and after a failure
	prepared  map[string]*pgconn.StatementDescription // by SQL
	pipeline  *pgconn.Pipeline                        // as long as conn
	foresight *foresight
}

// newWriter prepares a connection apart from the pool. Its planner settings keep a plan that was made while the tables
// were small from staying when they have grown; its time-outs free the accounts should this process stop in mid-batch.
func newWriter(pool *pgxpool.Pool) *writer {
	config := pool.Config().ConnConfig.Copy()
	for setting, value := range map[string]string{
		"application_name":                    "bankapi-ledger",
		"default_transaction_isolation":       "read committed",
		"enable_seqscan":                      "off",
		"enable_bitmapscan":                   "off",
		"enable_hashjoin":                     "off",
		"enable_mergejoin":                    "off",
		"jit":                                 "off", // what is switched off counts as dear, and dear plans are compiled
		"lock_timeout":                        "3s",
		"idle_in_transaction_session_timeout": "5s",
	} {
		config.RuntimeParams[setting] = value
	}
	return &writer{config: config, foresight: newForesight(accountsRemembered)}
}

const (
	beginBatch    = "BEGIN ISOLATION LEVEL READ COMMITTED"
	commitBatch   = "COMMIT"
	rollbackBatch = "ROLLBACK"
)

// waitForTheDisk is for a server, a role or a URL that would have COMMIT answered before it lasts. Stronger settings stay.
const waitForTheDisk = `
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'`

// Locking in the order of ids keeps the writers of several instances from deadlocking.
const lockAccounts = `
SELECT id, owner_id, currency, status = 'frozen', balance, sequence, last_transfer
FROM accounts
WHERE id = ANY ($1)
ORDER BY id
FOR NO KEY UPDATE`

// OFFSET 0 has each key looked up by itself. A join could be planned the other way round while the table is empty, walk
// all keys for each order, and stay.
const findAnswers = `
SELECT user_id, scope, key, fingerprint, status, body, transfer_id
FROM unnest($1::uuid[], $2::text[], $3::text[]) AS asked (asked_user, asked_scope, asked_key)
CROSS JOIN LATERAL (
	SELECT user_id, scope, key, fingerprint, status, body, transfer_id
	FROM idempotency_keys
	WHERE user_id = asked_user AND scope = asked_scope AND key = asked_key
	OFFSET 0
) AS known`

// insertTransfers also moves the balances: see ledger_post in the migration.
const insertTransfers = `
INSERT INTO transfers (id, from_account, to_account, amount, currency, memo, from_sequence, from_balance, to_sequence, to_balance, created_at)
SELECT *, $11::timestamptz
FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])`

// Keys are dated by the server, which also says when their time is over: instances whose clocks differ keep them as long.
const insertAnswers = `
INSERT INTO idempotency_keys (user_id, scope, key, fingerprint, status, body, transfer_id, created_at)
SELECT *, now()
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::smallint[], $6::bytea[], $7::uuid[])`

var statements = []string{beginBatch, lockAccounts, findAnswers, insertTransfers, insertAnswers, commitBatch, rollbackBatch}

// lock opens a transaction, locks the accounts of the orders and then, each statement of READ COMMITTED seeing what has
// been committed before it, looks their keys up: wait for that with locked. After an error the transaction is gone.
func (w *writer) lock(b *book, orders []*Order) error {
	w.send(beginBatch)
	w.send(lockAccounts, uuids(b.ids(), func(accountID AccountID) AccountID { return accountID }))
	w.send(findAnswers,
		uuids(orders, func(o *Order) OwnerID { return o.Owner }),
		texts(orders, func(o *Order) string { return o.Scope }),
		texts(orders, func(o *Order) string { return o.Key }))
	w.pipeline.SendPipelineSync()
	if err := w.pipeline.Flush(); err != nil {
		return w.broken("lock accounts", err)
	}
	return nil
}

// locked reads what was locked. After an error the transaction is gone.
func (w *writer) locked(b *book) error {
	err := w.read(func(rows pgx.Rows) error { return rows.Err() }, b.readAccounts, b.readAnswers)
	if err != nil {
		return w.broken("lock accounts", err)
	}
	return nil
}

// write sends what the verdicts say, and returns by which statements. Where a transaction has locked the accounts it is ended, and
// if nothing is to be written rolled back; else the sync is the end of one that the server began by itself.
func (w *writer) write(b *book, orders []*Order, verdicts []verdict, locked bool) (sent []string, err error) {
	send := func(sql string, args ...[]byte) {
		sent = append(sent, sql)
		w.send(sql, args...)
	}
	if args := postings(verdicts); args != nil {
		send(insertTransfers, append(args, timestamp(b.now))...)
	}
	if args := answers(orders, verdicts); args != nil {
		send(insertAnswers, args...)
	}
	switch {
	case locked && len(sent) == 0:
		send(rollbackBatch)
	case locked:
		send(commitBatch)
	}
	w.pipeline.SendPipelineSync()
	if err := w.pipeline.Flush(); err != nil {
		return nil, w.broken("write transfers", err)
	}
	w.foresight.remember(b)
	return sent, nil
}

// committed returns when what write sent is committed. After an error it is not, and nor is anything that was remembered since; or, if
// the connection broke, that is unknown.
func (w *writer) committed(sent []string) error {
	readers := make([]func(pgx.Rows) error, len(sent))
	var tag string
	for i := range readers {
		readers[i] = func(rows pgx.Rows) error {
			rows.Close()
			tag = rows.CommandTag().String()
			return rows.Err()
		}
	}
	if err := w.read(readers...); err != nil {
		return err
	}
	if want := sent[len(sent)-1]; tag != want && (want == commitBatch || want == rollbackBatch) {
		return fmt.Errorf("the transaction ended with %s, want %s", tag, want)
	}
	return nil
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
