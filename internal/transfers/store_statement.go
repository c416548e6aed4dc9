package transfers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Page asks for at most Limit rows, newest first, older than the transfer Before; the zero Before starts at the newest.
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

// cut drops the row that was read beyond the limit and reports whether there was one.
func cut[T any](rows []T, p Page) ([]T, bool) {
	if len(rows) > p.Limit {
		return rows[:p.Limit], true
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

const entriesPage = `
SELECT transfer_id, sequence, amount, balance_after, counterparty, memo, created_at
FROM entries
WHERE account_id = $1 AND transfer_id < $2
ORDER BY transfer_id DESC
LIMIT $3`

// Entries returns a page of the account's statement and whether there are older entries. Page.Before is the transfer of
// the last entry shown. Somebody else's account is ErrAccountNotFound.
func (s *Service) Entries(ctx context.Context, owner OwnerID, account AccountID, p Page) ([]Entry, bool, error) {
	if _, err := s.Account(ctx, owner, account); err != nil {
		return nil, false, err
	}
	rows, _ := s.pool.Query(ctx, entriesPage, account, p.before(), p.Limit+1)
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

// transfersPage takes the newest of each account and side from the two indexes, and of these the newest. A transfer
// between two accounts of the owner is found on both sides and shown once.
const transfersPage = `
SELECT ` + transferColumns + `
FROM transfers
WHERE id IN (
    SELECT found.id
    FROM accounts
    CROSS JOIN LATERAL (
        (SELECT id FROM transfers WHERE from_account = accounts.id AND id < $2 ORDER BY id DESC LIMIT $3)
        UNION
        (SELECT id FROM transfers WHERE to_account = accounts.id AND id < $2 ORDER BY id DESC LIMIT $3)
    ) AS found
    WHERE owner_id = $1
    GROUP BY found.id
    ORDER BY found.id DESC
    LIMIT $3)
ORDER BY id DESC`

// Transfers returns a page of the transfers on either side of which is an account of the owner, and whether there are
// older ones. Page.Before is the last transfer shown.
func (s *Service) Transfers(ctx context.Context, owner OwnerID, p Page) ([]Transfer, bool, error) {
	rows, _ := s.pool.Query(ctx, transfersPage, owner, p.before(), p.Limit+1)
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
