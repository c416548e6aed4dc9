package transfers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/transfers"
)

// What the database itself refuses, whoever asks. $1 is Ada's NGN account (balance 70, sequence 2), $2 Grace's (30, 1),
// $3 Ada's EUR account, $4 a frozen NGN account of hers (50, 1).
func TestDatabaseGuardsTheMoney(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(100), b.open(0)
	euro := b.openFor(ada.owner, "EUR", 50)
	b.mustSend(order(ada, grace, 30, "k"), 201)
	frozen := b.openFor(ada.owner, "NGN", 50)
	if err := b.SetStatus(t.Context(), frozen.account, transfers.Frozen); err != nil {
		t.Fatal(err)
	}

	const (
		insert = `INSERT INTO transfers (from_account, from_sequence, from_balance, to_account, to_sequence, to_balance, amount, currency, id, created_at) VALUES `
		next   = `'ffff0000-0000-7000-8000-000000000001', now()`
		after  = `'ffff0000-0000-7000-8000-000000000002', now()`
	)
	for _, c := range []struct{ name, sql, constraint string }{
		{"amount 0", insert + `($1, 3, 70, $2, 2, 30, 0, 'NGN', ` + next + `)`, "transfers_amount_is_positive"},
		{"negative amount", insert + `($1, 3, 80, $2, 2, 20, -10, 'NGN', ` + next + `)`, "transfers_amount_is_positive"},
		{"to itself", insert + `($1, 3, 60, $1, 3, 80, 10, 'NGN', ` + next + `)`, "transfers_between_two_accounts"},
		{"overdraft", insert + `($1, 3, -1, $2, 2, 101, 71, 'NGN', ` + next + `)`, "accounts_balance_above_floor"},
		{"gap", insert + `($1, 4, 60, $2, 2, 40, 10, 'NGN', ` + next + `)`, "transfers_are_posted"},
		{"gap inside a statement", insert + `($1, 3, 60, $2, 2, 40, 10, 'NGN', ` + next + `), ($1, 5, 50, $2, 3, 50, 10, 'NGN', ` + after + `)`, "transfers_are_posted"},
		{"sequence taken", insert + `($1, 2, 60, $2, 2, 40, 10, 'NGN', ` + next + `)`, "transfers_are_posted"},
		{"balance made up", insert + `($1, 3, 60, $2, 2, 41, 10, 'NGN', ` + next + `)`, "transfers_are_posted"},
		{"balances made up in between", insert + `($1, 3, 61, $2, 2, 39, 10, 'NGN', ` + next + `), ($1, 4, 50, $2, 3, 50, 10, 'NGN', ` + after + `)`, "transfers_are_posted"},
		{"id in the past", insert + `($1, 3, 60, $2, 2, 40, 10, 'NGN', '00000000-0000-7000-8000-000000000001', now())`, "transfers_are_posted"},
		{"other currency on both", insert + `($1, 3, 60, $2, 2, 40, 10, 'EUR', ` + next + `)`, "transfers_are_posted"},
		{"other currency on one", insert + `($1, 3, 60, $3, 2, 60, 10, 'NGN', ` + next + `)`, "transfers_are_posted"},
		{"from a frozen account", insert + `($4, 2, 40, $2, 2, 40, 10, 'NGN', ` + next + `)`, "transfers_are_posted"},
		{"to a frozen account", insert + `($1, 3, 60, $4, 2, 60, 10, 'NGN', ` + next + `)`, "transfers_are_posted"},
		{"unknown account", insert + `($1, 3, 60, '00000000-0000-7000-8000-000000000000', 1, 10, 10, 'NGN', ` + next + `)`, "transfers_are_posted"},
		{"update of a transfer", `UPDATE transfers SET amount = 1`, "transfers_never_change"},
		{"update of a transfer to itself", `UPDATE transfers SET memo = memo`, "transfers_never_change"},
		{"delete of a transfer", `DELETE FROM transfers`, "transfers_never_change"},
		{"truncate of transfers", `TRUNCATE transfers`, "transfers_never_change"},
		{"balance by hand", `UPDATE accounts SET balance = balance + 1 WHERE id = $1`, "accounts_move_by_transfers"},
		{"sequence by hand", `UPDATE accounts SET sequence = 7 WHERE id = $1`, "accounts_move_by_transfers"},
		{"account with money", `INSERT INTO accounts (id, owner_id, currency, balance, created_at) SELECT id, id, 'NGN', 5, now() FROM users LIMIT 1`, "accounts_start_empty"},
		{"customer with credit", `INSERT INTO accounts (id, owner_id, currency, floor, created_at) SELECT id, id, 'NGN', -5, now() FROM users LIMIT 1`, "accounts_customers_have_no_credit"},
		{"currency of an account", `UPDATE accounts SET currency = 'USD' WHERE id = $1`, "accounts_keep_identity"},
		{"owner of an account", `UPDATE accounts SET owner_id = NULL WHERE id = $1`, "accounts_keep_identity"},
		{"delete of an account", `DELETE FROM accounts WHERE id = $1`, "accounts_stay"},
		{"truncate of accounts", `TRUNCATE accounts`, "accounts_stay"},
		{"second system account", `INSERT INTO accounts (id, currency, created_at) VALUES ('00000000-0000-7000-8000-000000000000', 'NGN', now())`, "accounts_one_system_account"},
		{"stored answer", `UPDATE idempotency_keys SET status = 201`, "idempotency_keys_never_change"},
	} {
		sql := strings.NewReplacer("$1", quote(ada), "$2", quote(grace), "$3", quote(euro), "$4", quote(frozen)).Replace(c.sql)
		_, err := b.pool.Exec(t.Context(), sql)
		pgErr, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || pgErr.ConstraintName != c.constraint {
			t.Errorf("%s: %v; want a violation of %s", c.name, err, c.constraint)
		}
	}
	b.wantBalance(ada, 70)
	b.wantBalance(grace, 30)
	b.wantBalance(frozen, 50)

	// And what it takes: two transfers that do continue their histories, in one statement.
	sql := strings.NewReplacer("$1", quote(ada), "$2", quote(grace)).Replace(
		insert + `($1, 3, 60, $2, 2, 40, 10, 'NGN', ` + next + `), ($2, 3, 35, $1, 4, 65, 5, 'NGN', ` + after + `)`)
	b.exec(sql)
	b.wantBalance(ada, 65)
	b.wantBalance(grace, 35)
}

func quote(h holder) string {
	return fmt.Sprintf("'%x'::uuid", h.account[:])
}

// The audit finds what the guards would have refused, had they been on.
func TestIntegrityFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, sql, want string }{
		{"balance", `UPDATE accounts SET balance = balance + 1 WHERE id = $1`, "balance differs"},
		{"sequence", `UPDATE accounts SET sequence = sequence + 1 WHERE id = $1`, "gap"},
		{"entry's sequence", `UPDATE transfers SET from_sequence = from_sequence + 1 WHERE from_account = $1`, "gap"},
		{"entry's balance", `UPDATE transfers SET to_balance = to_balance + 1 WHERE to_account = $1`, "does not continue"},
		{"currency", `UPDATE transfers SET currency = 'USD' WHERE from_account = $1`, "another currency"},
		{"missing transfer", `DELETE FROM transfers WHERE from_account = $1`, "not there"},
		{"missing account", `DELETE FROM accounts WHERE id = $1`, "without an account"},
		{"sum", `UPDATE accounts SET balance = balance + 1 WHERE id = $1`, "sum to 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pool := dbtest.Pool(t)
			b := &bank{Service: start(t, pool, transfers.Options{}), t: t, pool: pool} // not audited at the end
			ada, grace := b.open(100), b.open(0)
			b.mustSend(order(ada, grace, 30, "k"), 201)
			if report, err := b.Integrity(t.Context()); err != nil || !report.OK() || report.Transfers != 2 || report.Accounts != 3 {
				t.Fatalf("before: %+v, %v", report, err)
			}
			b.asReplica(strings.ReplaceAll(c.sql, "$1", quote(ada)))
			report, err := b.Integrity(t.Context())
			if err != nil || report.OK() || !mentions(report, c.want) {
				t.Errorf("%+v, %v; want a fault with %q", report, err, c.want)
			}
		})
	}
}

func mentions(r transfers.Report, what string) bool {
	for _, f := range r.Faults {
		if strings.Contains(f.What, what) {
			return true
		}
	}
	return false
}
