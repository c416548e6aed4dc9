package transfers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// MaxPage is the most rows that a page may have.
const MaxPage = 100

// Page asks for at most Limit rows, or MaxPage if that is less, newest first, older than the transfer Before; the zero
// Before starts at the newest.
// Rows that arrive meanwhile come before the first page, so paging shows no row twice and misses none that was there.
type Page struct {
	Limit  int
	Before TransferID
}

// newest stands before every transfer.
var newest = TransferID(slices.Repeat([]byte{0xff}, 16))

func (p Page) before() TransferID {
	if p.Before == (TransferID{}) {
		return newest
	}
	return p.Before
}

// limit is one row more than the page has, so that cut learns whether there are older ones.
func (p Page) limit() int { return min(p.Limit, MaxPage) + 1 }

// cut drops the row that was read beyond the page and reports whether there was one.
func cut[T any](rows []T, p Page) ([]T, bool) {
	if len(rows) == p.limit() {
		return rows[:len(rows)-1], true
	}
	return rows, false
}

// Entry is one side of a transfer, seen from the account on that side.
type Entry struct {
	Transfer     TransferID
	Sequence     int64  // 1 for the account's first entry, without gaps
	Amount       Amount // negative if money left the account
	BalanceAfter Amount
	Counterparty AccountID
	Memo         string
	CreatedAt    time.Time
}

// entriesPage walks back from the cursor through the two indexes that begin with the account, and through nothing else.
//
// Rows are compared and sorted by account and transfer, although there is but one account: for "account_id = $1 ORDER BY
// transfer_id" PostgreSQL would walk the primary key if many transfers are the account's, past all that others made since
// its last one. The constant limit, MaxPage and one, tells the planner that pages are small: one plan is good for every
// account, so it is kept, and no page is thought worth compiling (JIT).
const entriesPage = `
SELECT transfer_id, sequence, amount, balance_after, counterparty, memo, created_at
FROM (
    SELECT *
    FROM entries
    WHERE (account_id, transfer_id) < ($1, $2) AND account_id >= $1
    ORDER BY account_id DESC, transfer_id DESC
    LIMIT 101) AS newest
ORDER BY account_id DESC, transfer_id DESC
LIMIT $3`

// Entries returns a page of the account's statement and whether there are older entries. Page.Before is the transfer of
// the last entry shown. Somebody else's account is ErrAccountNotFound.
func (s *Service) Entries(ctx context.Context, owner OwnerID, account AccountID, p Page) ([]Entry, bool, error) {
	if _, err := s.Account(ctx, owner, account); err != nil {
		return nil, false, err
	}
	rows, _ := s.pool.Query(ctx, entriesPage, account, p.before(), p.limit())
	entries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Entry, error) {
		var e Entry
		err := row.Scan(&e.Transfer, &e.Sequence, &e.Amount, &e.BalanceAfter, &e.Counterparty, &e.Memo, &e.CreatedAt)
		e.CreatedAt = e.CreatedAt.UTC()
		return e, err
	})
	if err != nil {
		return nil, false, fmt.Errorf("read statement: %w", err)
	}
	entries, more := cut(entries, p)
	return entries, more, nil
}

const transferColumns = "id, from_account, to_account, amount, currency, memo, created_at"

func scanTransfer(row pgx.CollectableRow) (Transfer, error) {
	var t Transfer
	err := row.Scan(&t.ID, &t.From, &t.To, &t.Amount, &t.Currency, &t.Memo, &t.CreatedAt)
	t.CreatedAt = t.CreatedAt.UTC()
	return t, err
}

// transfersPage takes the newest entries of each account, as entriesPage does, and of these the newest transfers. A transfer
// between two accounts of the owner is found at both and shown once.
const transfersPage = `
SELECT ` + transferColumns + `
FROM transfers
WHERE id IN (
    SELECT transfer_id
    FROM accounts
    CROSS JOIN LATERAL (
        SELECT transfer_id
        FROM (
            SELECT account_id, transfer_id
            FROM entries
            WHERE (account_id, transfer_id) < (accounts.id, $2) AND account_id >= accounts.id
            ORDER BY account_id DESC, transfer_id DESC
            LIMIT 101) AS newest
        ORDER BY account_id DESC, transfer_id DESC
        LIMIT $3) AS found
    WHERE owner_id = $1
    GROUP BY transfer_id
    ORDER BY transfer_id DESC
    LIMIT $3)
ORDER BY id DESC`

// Transfers returns a page of the transfers on either side of which is an account of the owner, and whether there are
// older ones. Page.Before is the last transfer shown.
func (s *Service) Transfers(ctx context.Context, owner OwnerID, p Page) ([]Transfer, bool, error) {
	rows, _ := s.pool.Query(ctx, transfersPage, owner, p.before(), p.limit())
	transfers, err := pgx.CollectRows(rows, scanTransfer)
	if err != nil {
		return nil, false, fmt.Errorf("list transfers: %w", err)
	}
	transfers, more := cut(transfers, p)
	return transfers, more, nil
}

// GetTransfer returns a transfer to the owner of either side, and ErrTransferNotFound to everybody else.
func (s *Service) GetTransfer(ctx context.Context, owner OwnerID, transfer TransferID) (Transfer, error) {
	const query = `
SELECT ` + transferColumns + `
FROM transfers
WHERE id = $1 AND EXISTS (SELECT FROM accounts WHERE accounts.id IN (from_account, to_account) AND owner_id = $2)`
	rows, _ := s.pool.Query(ctx, query, transfer, owner)
	t, err := pgx.CollectExactlyOneRow(rows, scanTransfer)
	if errors.Is(err, pgx.ErrNoRows) {
		return Transfer{}, ErrTransferNotFound
	}
	if err != nil {
		return Transfer{}, fmt.Errorf("read transfer: %w", err)
	}
	return t, nil
}
