package webhooks

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/id"
)

// TestTheOutboxIsReadByItsIndex: a look at the outbox must not cost more the longer the bank has been open. The ledger's
// guards are off, for speed.
func TestTheOutboxIsReadByItsIndex(t *testing.T) {
	t.Parallel()
	pool := dbtest.Pool(t)
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, sql := range []string{
		`SET statement_timeout = 0`,
		`SET session_replication_role = replica`,
		`INSERT INTO transfers (id, from_account, to_account, amount, from_sequence, from_balance, to_sequence, to_balance, currency, created_at, xid)
		 SELECT gen_random_uuid(), '00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002', 1, n, 0, n, 0, 'NGN', now(), n / 10
		 FROM generate_series(1, 100000) AS n`,
		`VACUUM ANALYZE transfers`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		if _, err := conn.Exec(t.Context(), "SET plan_cache_mode = "+mode); err != nil {
			t.Fatal(err)
		}
		for sql, args := range map[string][]any{
			fanOut:             {int64(9_990), id.ID{}, pageSize, time.Now()},
			selectOldestUnread: {int64(9_990), id.ID{}},
		} {
			rows, err := conn.Query(t.Context(), "EXPLAIN (ANALYZE, BUFFERS) "+sql, args...)
			if err != nil {
				t.Fatal(err)
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			plan := strings.Join(lines, "\n")
			if !strings.Contains(plan, "transfers_by_xid") || strings.Contains(plan, "Seq Scan on transfers") {
				t.Errorf("%s:\n%s", mode, plan)
			}
		}
	}
}
