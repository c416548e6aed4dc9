package transfers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/id"
	"example.com/bankapi/internal/postgres"
)

// Status says whether an account takes part in transfers.
type Status string

// An account starts active. A frozen one neither sends nor receives; it can be read.
const (
	Active Status = "active"
	Frozen Status = "frozen"
)

// MaxAccounts is how many accounts an owner may open.
const MaxAccounts = 50

// Account is a customer's account as its owner sees it.
type Account struct {
	ID        AccountID
	Currency  string
	Name      string
	Balance   Amount
	Status    Status
	CreatedAt time.Time // UTC, whole microseconds
}

const accountColumns = "id, currency, name, balance, status, created_at"

func scanAccount(row pgx.CollectableRow) (Account, error) {
	var a Account
	err := row.Scan(&a.ID, &a.Currency, &a.Name, &a.Balance, &a.Status, &a.CreatedAt)
	a.CreatedAt = a.CreatedAt.UTC()
	return a, err
}

// Accounts returns the owner's accounts, oldest first.
func (s *Service) Accounts(ctx context.Context, owner OwnerID) ([]Account, error) {
	const query = `SELECT ` + accountColumns + ` FROM accounts WHERE owner_id = $1 ORDER BY id`
	rows, _ := s.pool.Query(ctx, query, owner)
	accounts, err := pgx.CollectRows(rows, scanAccount)
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	return accounts, nil
}

// Account returns one account of the owner; absent and somebody else's are both ErrAccountNotFound.
func (s *Service) Account(ctx context.Context, owner OwnerID, account AccountID) (Account, error) {
	const query = `SELECT ` + accountColumns + ` FROM accounts WHERE id = $1 AND owner_id = $2`
	rows, _ := s.pool.Query(ctx, query, account, owner)
	a, err := pgx.CollectExactlyOneRow(rows, scanAccount)
	if errors.Is(err, pgx.ErrNoRows) {
		return Account{}, ErrAccountNotFound
	}
	if err != nil {
		return Account{}, fmt.Errorf("read account: %w", err)
	}
	return a, nil
}

// SetStatus freezes an account or makes it active again. Orders that are judged later see it; none is judged meanwhile.
func (s *Service) SetStatus(ctx context.Context, account AccountID, status Status) error {
	const query = `UPDATE accounts SET status = $2 WHERE id = $1 AND owner_id IS NOT NULL`
	tag, err := s.pool.Exec(ctx, query, account, status)
	if err != nil {
		return fmt.Errorf("set account status: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return ErrAccountNotFound
	}
	return nil
}

// OpenAccount opens an account and moves the opening credit into it, both or neither.
func (s *Service) OpenAccount(ctx context.Context, owner OwnerID, currency, name string) (Account, error) {
	if _, ok := LookUpCurrency(currency); !ok {
		return Account{}, ErrUnknownCurrency
	}
	if !isText(name, MaxName) {
		return Account{}, ErrInvalidName
	}
	now := s.now().UTC().Truncate(time.Microsecond)
	account := Account{ID: AccountID(id.New()), Currency: currency, Name: name, Status: Active, CreatedAt: now}
	err := postgres.InTx(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if err := insertAccount(ctx, tx, owner, account); err != nil {
			return err
		}
		if s.openingCredit == 0 {
			return nil
		}
		account.Balance = s.openingCredit
		return issue(ctx, tx, account)
	})
	if err != nil {
		return Account{}, fmt.Errorf("open account: %w", err)
	}
	return account, nil
}

// insertAccount adds an empty account. The owner's row is locked, so that two requests cannot both open the last one.
func insertAccount(ctx context.Context, tx pgx.Tx, owner OwnerID, a Account) error {
	const (
		lock   = `SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE`
		count  = `SELECT count(*) FROM accounts WHERE owner_id = $1`
		insert = `INSERT INTO accounts (id, owner_id, currency, name, created_at) VALUES ($1, $2, $3, $4, $5)`
	)
	if _, err := tx.Exec(ctx, lock, owner); err != nil {
		return err
	}
	var n int
	if err := tx.QueryRow(ctx, count, owner).Scan(&n); err != nil {
		return err
	}
	if n >= MaxAccounts {
		return ErrTooManyAccounts
	}
	_, err := tx.Exec(ctx, insert, a.ID, owner, a.Currency, a.Name, a.CreatedAt)
	return err
}

// issue moves the balance of a new account out of the system account of its currency, which it creates if there is none.
// It uses the rules of the batcher, and meets it nowhere: no order can name a system account or, yet, the new one.
func issue(ctx context.Context, tx pgx.Tx, a Account) error {
	const (
		create = `
INSERT INTO accounts (id, currency, name, floor, created_at) VALUES ($1, $2, 'system', $3, $4)
ON CONFLICT (currency) WHERE owner_id IS NULL DO NOTHING`
		lock = `
SELECT id, balance, sequence, last_transfer FROM accounts WHERE currency = $1 AND owner_id IS NULL FOR NO KEY UPDATE`
	)
	if _, err := tx.Exec(ctx, create, id.New(), a.Currency, int64(math.MinInt64), a.CreatedAt); err != nil {
		return err
	}
	var systemID AccountID
	var system account
	err := tx.QueryRow(ctx, lock, a.Currency).Scan(&systemID, &system.balance, &system.sequence, &system.lastTransfer)
	if err != nil {
		return err
	}
	opened := &account{}
	t := Transfer{From: systemID, To: a.ID, Amount: a.Balance, Currency: a.Currency, Memo: "Opening credit", CreatedAt: a.CreatedAt}
	b := &book{newID: newTransferID}
	t.ID = b.nextID(&system, opened)
	moved := move(&system, opened, t)
	args := append(postings([]verdict{{posting: &moved}}), timestamp(a.CreatedAt))
	return tx.Conn().PgConn().ExecParams(ctx, insertTransfers, args, nil, binaryFormat, nil).Read().Err
}
