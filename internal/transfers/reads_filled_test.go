package transfers

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// filling describes a sound ledger with a long history, for what depends on size. It is written set by set, with the
// triggers off and the indexes built at the end, in a fraction of the time that posting would take.
//
// After the opening credits come rounds. In each, every account pays 1 to another and is paid 1 by a third; then a
// quarter of the accounts pay 1 to the hot account or, every other round, get it back. So each number of a row follows
// from its place, and one transfer in five is on the hot account's statement.
type filling struct {
	accounts int64 // without the hot one; each has an owner of its own; a multiple of 4
	rounds   int64 // even
	keys     int64 // of the oldest transfers
}

// opened is the balance of each account, before the first round and after the last.
const opened = 1_000_000

func (f filling) transfers() int64 { return f.accounts + 1 + f.rounds*f.accounts*5/4 }
func (f filling) hot() int64       { return f.accounts } // its number

func (filling) account(i int64) (account AccountID) {
	decode(account[:], "01800000000070008%015x", i)
	return account
}

func (filling) owner(i int64) (owner OwnerID) {
	decode(owner[:], "01700000000070008%015x", i)
	return owner
}

// transfer returns the id of the i-th transfer: the first ones are the opening credits, in the order of the accounts.
func (f filling) transfer(i int64) (transfer TransferID) {
	decode(transfer[:], "%012x70008%015x", 1735689600000+i*7776000000/f.transfers(), i)
	return transfer
}

func decode(to []byte, format string, values ...any) {
	if _, err := hex.Decode(to, fmt.Appendf(nil, format, values...)); err != nil {
		panic(err)
	}
}

const fillAccounts = `
INSERT INTO users (id, email, password_hash, created_at)
SELECT pg_temp.owner(i), i || '@example.com', '$argon2id$', now() FROM generate_series(0, {A}) AS i;

INSERT INTO accounts (id, owner_id, currency, balance, sequence, last_transfer, created_at)
SELECT pg_temp.account(i), pg_temp.owner(i), 'NGN', {B},
       CASE WHEN i = {A} THEN 1 + {R} * {A} / 4 WHEN i < {A} / 4 THEN 1 + 3 * {R} ELSE 1 + 2 * {R} END,
       pg_temp.transfer({N} - 1), now()
FROM generate_series(0, {A}) AS i;

INSERT INTO accounts (id, currency, floor, balance, sequence, last_transfer, created_at)
VALUES (pg_temp.account(-1), 'NGN', -9223372036854775808, -{B} * ({A} + 1), {A} + 1, pg_temp.transfer({N} - 1), now())`

const fillTransfers = `
INSERT INTO transfers (id, from_account, to_account, amount, from_sequence, from_balance, to_sequence, to_balance, currency, created_at)
SELECT pg_temp.transfer(i), pg_temp.account(-1), pg_temp.account(i), {B}, i + 1, -{B} * (i + 1), 1, {B}, 'NGN', pg_temp.time(i)
FROM generate_series(0, {A}) AS i;

WITH place AS (
    SELECT i, i - {A} - 1 AS since, (i - {A} - 1) / ({A} * 5 / 4) AS round, (i - {A} - 1) % ({A} * 5 / 4) AS n
    FROM generate_series({A} + 1, {N} - 1) AS i
), pair AS (
    SELECT i, round, n,
           CASE WHEN n < {A} THEN n WHEN round % 2 = 0 THEN n - {A} ELSE {A} END AS payer,
           CASE WHEN n < {A} THEN (n + shift) % {A} WHEN round % 2 = 0 THEN {A} ELSE n - {A} END AS payee,
           (n - shift + {A}) % {A} AS before -- who pays the payer
    FROM place, LATERAL (SELECT 1 + round * 7919 % ({A} - 1) AS shift) AS s
)
INSERT INTO transfers (id, from_account, to_account, amount, from_sequence, from_balance, to_sequence, to_balance, currency, created_at)
SELECT pg_temp.transfer(i), pg_temp.account(payer), pg_temp.account(payee), 1,
       CASE WHEN payer = {A} THEN 1 + round * {A} / 4 + n - {A} + 1
            ELSE 1 + 2 * round + CASE WHEN payer < {A} / 4 THEN round ELSE 0 END + CASE WHEN n >= {A} THEN 3 WHEN payer < before THEN 1 ELSE 2 END END,
       CASE WHEN payer = {A} THEN {B} + {A} / 4 - (n - {A} + 1)
            WHEN n >= {A} THEN {B} - 1
            ELSE {B} - CASE WHEN payer < {A} / 4 THEN round % 2 ELSE 0 END - CASE WHEN payer < before THEN 1 ELSE 0 END END,
       CASE WHEN payee = {A} THEN 1 + round * {A} / 4 + n - {A} + 1
            ELSE 1 + 2 * round + CASE WHEN payee < {A} / 4 THEN round ELSE 0 END + CASE WHEN n >= {A} THEN 3 WHEN payer < payee THEN 1 ELSE 2 END END,
       CASE WHEN payee = {A} THEN {B} + n - {A} + 1
            WHEN n >= {A} THEN {B}
            ELSE {B} - CASE WHEN payee < {A} / 4 THEN round % 2 ELSE 0 END + CASE WHEN payer < payee THEN 1 ELSE 0 END END,
       'NGN', pg_temp.time(i)
FROM pair`

const fillKeys = `
INSERT INTO idempotency_keys (user_id, scope, key, fingerprint, status, body, transfer_id, created_at)
SELECT ('017' || substr(from_account::text, 4))::uuid, 'POST /transfers', id::text, sha256(uuid_send(id)), 201,
       convert_to(repeat('a stored answer ', 16), 'UTF8'), id, created_at
FROM transfers
LIMIT {K}`

// fillNames gives the i-th account, owner and transfer their ids; transfers lie 90 days of 2025 apart, first to last.
const fillNames = `
CREATE OR REPLACE FUNCTION pg_temp.account(i bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS
$$ SELECT ('01800000000070008' || lpad(to_hex(i), 15, '0'))::uuid $$;
CREATE OR REPLACE FUNCTION pg_temp.owner(i bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS
$$ SELECT ('01700000000070008' || lpad(to_hex(i), 15, '0'))::uuid $$;
CREATE OR REPLACE FUNCTION pg_temp.millis(i bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT 1735689600000 + i * 7776000000 / {N} $$;
CREATE OR REPLACE FUNCTION pg_temp.time(i bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS
$$ SELECT to_timestamp(pg_temp.millis(i) / 1000.0) $$;
CREATE OR REPLACE FUNCTION pg_temp.transfer(i bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS
$$ SELECT (lpad(to_hex(pg_temp.millis(i)), 12, '0') || '70008' || lpad(to_hex(i), 15, '0'))::uuid $$`

// fill writes the ledger into an empty database, which is afterwards as autovacuum would leave it.
func (f filling) fill(t testing.TB, conn *pgx.Conn) {
	t.Helper()
	rebuild := dropSecondary(t, conn, "transfers")
	f.grow(t, conn)
	for _, sql := range []string{"SET maintenance_work_mem = '256MB'", rebuild, "RESET maintenance_work_mem", "VACUUM ANALYZE accounts, transfers, idempotency_keys"} {
		if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
}

// grow adds the rows and nothing else: to PostgreSQL's knowledge, and so to plans that it keeps, the tables are still empty.
func (f filling) grow(t testing.TB, conn *pgx.Conn) {
	t.Helper()
	number := func(i int64) string { return fmt.Sprintf("(%d::bigint)", i) }
	values := strings.NewReplacer("{A}", number(f.accounts), "{R}", number(f.rounds), "{N}", number(f.transfers()),
		"{B}", number(opened), "{K}", number(f.keys))
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), values.Replace(sql), pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("fill the ledger: %v\n%s", err, sql)
		}
	}
	run(`SET session_replication_role = replica; SET statement_timeout = 0`)
	run(fillNames)
	run(fillAccounts)
	run(fillTransfers)
	run(fillKeys)
	run(`RESET session_replication_role; RESET statement_timeout`)
}

// dropSecondary drops a table's indexes but for those of constraints, and returns the SQL that makes them anew.
func dropSecondary(t testing.TB, conn *pgx.Conn, table string) string {
	t.Helper()
	const query = `
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = $1::regclass AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)`
	rows, _ := conn.Query(t.Context(), query, table)
	var name, definition string
	var names, definitions []string
	if _, err := pgx.ForEachRow(rows, []any{&name, &definition}, func() error {
		names, definitions = append(names, name), append(definitions, definition)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "DROP INDEX "+strings.Join(names, ", ")); err != nil {
		t.Fatal(err)
	}
	return strings.Join(definitions, ";\n")
}
