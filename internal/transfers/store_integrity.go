package transfers

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Report is the result of an audit of the whole ledger.
type Report struct {
	Accounts   int64
	Transfers  int64
	Currencies []CurrencySum
	Faults     []Fault // the first MaxFaults; none in a sound ledger
}

// MaxFaults bounds a report on a ledger that has come to grief.
const MaxFaults = 100

// CurrencySum is the total of a currency's balances, the system account included: 0 in a sound ledger.
type CurrencySum struct {
	Currency string
	Sum      int64
}

// Fault is one broken promise.
type Fault struct {
	Where string // a currency, an account or a key's transfer
	What  string
}

// OK reports whether every promise holds.
func (r Report) OK() bool { return len(r.Faults) == 0 }

// Integrity audits the ledger in one snapshot: sums of currencies are 0, each balance equals its entries, each entry
// continues the one before without a gap, and each stored success has its transfer. It reads every row and locks none.
func (s *Service) Integrity(ctx context.Context) (Report, error) {
	var report Report
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, s.pool, snapshot, func(tx pgx.Tx) error {
		for _, audit := range []func(context.Context, pgx.Tx) error{
			unhurried, report.count, report.sumCurrencies, report.checkAccounts, report.checkKeys,
		} {
			if err := audit(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Report{}, fmt.Errorf("audit the ledger: %w", err)
	}
	report.Faults = report.Faults[:min(len(report.Faults), MaxFaults)]
	return report, nil
}

// unhurried lets the audit run as long as its caller's context allows.
func unhurried(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "SET LOCAL statement_timeout = 0")
	return err
}

func (r *Report) count(ctx context.Context, tx pgx.Tx) error {
	const query = `SELECT (SELECT count(*) FROM accounts), (SELECT count(*) FROM transfers)`
	return tx.QueryRow(ctx, query).Scan(&r.Accounts, &r.Transfers)
}

func (r *Report) sumCurrencies(ctx context.Context, tx pgx.Tx) error {
	const query = `SELECT currency, sum(balance)::bigint FROM accounts GROUP BY currency ORDER BY currency`
	rows, _ := tx.Query(ctx, query)
	var sum CurrencySum
	_, err := pgx.ForEachRow(rows, []any{&sum.Currency, &sum.Sum}, func() error {
		r.Currencies = append(r.Currencies, sum)
		if sum.Sum != 0 {
			r.Faults = append(r.Faults, Fault{Where: sum.Currency, What: fmt.Sprintf("balances sum to %d, not to 0", sum.Sum)})
		}
		return nil
	})
	return err
}

// checkAccounts rebuilds each account from its entries.
func (r *Report) checkAccounts(ctx context.Context, tx pgx.Tx) error {
	const query = `
WITH entry AS (
    SELECT account_id, currency, amount,
           sequence = row_number() OVER history AS in_sequence,
           balance_after = sum(amount) OVER history AS in_balance
    FROM entries
    WINDOW history AS (PARTITION BY account_id ORDER BY transfer_id)
), history AS (
    SELECT account_id, count(*) AS entries, sum(amount) AS total, min(currency) AS first_currency, max(currency) AS last_currency,
           bool_and(in_sequence) AS in_sequence, bool_and(in_balance) AS in_balance
    FROM entry
    GROUP BY account_id
)
SELECT coalesce(id, account_id), CASE
    WHEN id IS NULL THEN 'entries without an account'
    WHEN balance < floor THEN 'the balance is below the floor'
    WHEN balance <> coalesce(total, 0) THEN 'the balance differs from the sum of the entries'
    WHEN sequence <> coalesce(entries, 0) OR NOT in_sequence THEN 'the sequence numbers have a gap'
    WHEN NOT in_balance THEN 'an entry does not continue the balance before it'
    WHEN first_currency <> currency OR last_currency <> currency THEN 'entries in another currency'
END AS what
FROM accounts
FULL JOIN history ON id = account_id
WHERE id IS NULL OR balance < floor OR balance <> coalesce(total, 0) OR sequence <> coalesce(entries, 0)
   OR NOT in_sequence OR NOT in_balance OR first_currency <> currency OR last_currency <> currency
ORDER BY 1
LIMIT $1`
	rows, _ := tx.Query(ctx, query, MaxFaults)
	var where AccountID
	var what string
	_, err := pgx.ForEachRow(rows, []any{&where, &what}, func() error {
		r.Faults = append(r.Faults, Fault{Where: where.String(), What: what})
		return nil
	})
	return err
}

func (r *Report) checkKeys(ctx context.Context, tx pgx.Tx) error {
	const query = `
SELECT transfer_id FROM idempotency_keys
WHERE transfer_id IS NOT NULL AND NOT EXISTS (SELECT FROM transfers WHERE id = transfer_id)
LIMIT $1`
	rows, _ := tx.Query(ctx, query, MaxFaults)
	var where TransferID
	_, err := pgx.ForEachRow(rows, []any{&where}, func() error {
		r.Faults = append(r.Faults, Fault{Where: where.String(), What: "a key was answered with a transfer that is not there"})
		return nil
	})
	return err
}
