package transfers

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/dbtest"
)

// grown is a ledger as it looks after years: 2,000 accounts of 400 owners, 30,000 transfers. Its triggers are off while
// it is filled, so only plans can be judged by it.
const grown = `
SET session_replication_role = replica;
SET statement_timeout = 0;
INSERT INTO accounts (id, owner_id, currency, created_at)
SELECT md5('a' || i)::uuid, md5('u' || i % 400)::uuid, 'NGN', now() FROM generate_series(1, 2000) AS i;
INSERT INTO transfers (id, from_account, to_account, amount, from_sequence, from_balance, to_sequence, to_balance, currency, created_at)
SELECT md5('t' || i)::uuid, md5('a' || i * 7 % 2000 + 1)::uuid, md5('a' || (i * 7 + 1 + i % 1999) % 2000 + 1)::uuid, 1, i, 0, i, 0, 'NGN', now()
FROM generate_series(1, 30000) AS i
WHERE i * 7 % 2000 <> (i * 7 + 1 + i % 1999) % 2000;
INSERT INTO idempotency_keys (user_id, scope, key, fingerprint, status, body, created_at)
SELECT md5('u' || i % 400)::uuid, 'POST /transfers', i::text, '', 422, '', now() FROM generate_series(1, 30000) AS i;
SET session_replication_role = origin;
ANALYZE accounts, transfers, idempotency_keys`

// plan returns how a prepared statement is run once PostgreSQL has stopped to look at its arguments.
func plan(t *testing.T, conn *pgx.Conn, types, sql, args string) string {
	t.Helper()
	run := func(sql string) {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run(`SET plan_cache_mode = force_generic_plan`)
	run(fmt.Sprintf(`PREPARE asked (%s) AS %s`, types, sql))
	defer run(`DEALLOCATE asked`)
	rows, err := conn.Query(t.Context(), `EXPLAIN EXECUTE asked (`+args+`)`, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// statements of the ledger, and the indexes each must use.
var planned = []struct {
	name, types, sql, args string
	writer                 bool
	want                   []string
}{
	{"statement", "uuid, uuid, bigint", entriesPage, `md5('a1')::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff', 21`, false,
		[]string{"transfers_by_sender", "transfers_by_receiver"}},
	{"list", "uuid, uuid, bigint", transfersPage, `md5('u1')::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff', 21`, false,
		[]string{"Index Only Scan", "transfers_by_sender", "transfers_by_receiver", "accounts_by_owner", "transfers_pkey"}},
	{"locks", "uuid[]", lockAccounts, `'{}'`, true, []string{"accounts_pkey"}},
	{"keys", "uuid[], text[], text[]", findAnswers, `'{}', '{}', '{}'`, true, []string{"idempotency_keys_pkey"}},
}

func TestPlansUseIndexes(t *testing.T) {
	t.Parallel()
	pool := dbtest.Pool(t)
	writer := newWriter(pool)
	t.Cleanup(writer.close)
	if err := writer.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := writer.pipeline.Close(); err != nil {
		t.Fatal(err)
	}
	reader, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close(context.Background()) })
	check := func(age string, onlyWriter bool) {
		for _, p := range planned {
			conn := reader
			if p.writer {
				conn = writer.conn
			} else if onlyWriter {
				continue
			}
			got := plan(t, conn, p.types, p.sql, p.args)
			for _, want := range append(p.want, "Index") {
				if !strings.Contains(got, want) || strings.Contains(got, "Seq Scan") {
					t.Errorf("%s on a %s ledger does not use %s alone:\n%s", p.name, age, want, got)
				}
			}
		}
	}
	check("young", true) // a plan made now will stay for a while
	if _, err := reader.Exec(t.Context(), grown, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	check("grown", false)
}
