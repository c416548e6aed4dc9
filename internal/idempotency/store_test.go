package idempotency_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/id"
	"example.com/bankapi/internal/idempotency"
)

const insert = `
INSERT INTO idempotency_keys (user_id, scope, key, fingerprint, status, body, transfer_id, created_at)
VALUES ($1, 'POST /transfers', $2, '', $3, '', $4, $5)`

var noon = time.Date(2026, 9, 24, 12, 0, 0, 0, time.UTC)

func TestFindTellsOneKeyOfOneUserInOneScope(t *testing.T) {
	t.Parallel()
	store := idempotency.Store{Pool: dbtest.Pool(t)}
	ada, transfer := id.New(), id.New()
	for _, row := range [][]any{{ada, "paid", 201, &transfer, noon}, {ada, "refused", 422, nil, noon}} {
		if _, err := store.Pool.Exec(t.Context(), insert, row...); err != nil {
			t.Fatal(err)
		}
	}
	unknown := idempotency.Record{State: idempotency.Unknown}
	for _, c := range []struct {
		user       id.ID
		scope, key string
		want       idempotency.Record
	}{
		{ada, "POST /transfers", "paid", idempotency.Record{State: idempotency.Done, Status: 201, Transfer: transfer}},
		{ada, "POST /transfers", "refused", idempotency.Record{State: idempotency.Done, Status: 422}},
		{ada, "POST /transfers", "Paid", unknown},
		{ada, "POST /other", "paid", unknown},
		{id.New(), "POST /transfers", "paid", unknown},
	} {
		got, err := store.Find(t.Context(), c.user, c.scope, c.key)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s %q: %v %s", c.scope, c.key, err, diff)
		}
	}
}

func TestPurgeForgetsByAgeBatchByBatch(t *testing.T) {
	t.Parallel()
	store := idempotency.Store{Pool: dbtest.Pool(t)}
	ada := id.New()
	for i := range 10 {
		created := noon.Add(time.Duration(i) * time.Hour)
		if _, err := store.Pool.Exec(t.Context(), insert, ada, string(rune('0'+i)), 422, nil, created); err != nil {
			t.Fatal(err)
		}
	}
	var from time.Time
	for _, want := range []int64{3, 3, 1, 0} {
		n, goOn, err := store.Purge(t.Context(), from, noon.Add(7*time.Hour), 3)
		if err != nil || n != want {
			t.Errorf("purged %d, %v; want %d", n, err, want)
		}
		from = goOn
	}
	for key, want := range map[string]idempotency.State{"6": idempotency.Unknown, "7": idempotency.Done} {
		if got, err := store.Find(t.Context(), ada, "POST /transfers", key); err != nil || got.State != want {
			t.Errorf("key %s: %+v, %v; want %s", key, got, err, want)
		}
	}
}

// stored fills the table with keys of one user, a hundred a second.
func stored(t *testing.T, store idempotency.Store, keys int) {
	t.Helper()
	const query = `
INSERT INTO idempotency_keys (user_id, scope, key, fingerprint, status, body, created_at)
SELECT $1, 'POST /transfers', i::text, '', 422, '', $2::timestamptz + i / 100 * interval '1 second' FROM generate_series(0, $3::int - 1) AS i`
	if _, err := store.Pool.Exec(t.Context(), query, id.New(), noon, keys); err != nil {
		t.Fatal(err)
	}
}

// While many keys are forgotten others are stored, and neither waits for the other's locks.
func TestPurgeWaitsForNobodyAndNobodyForIt(t *testing.T) {
	t.Parallel()
	store := idempotency.Store{Pool: dbtest.Pool(t)}
	stored(t, store, 50_000)
	conn, err := pgx.ConnectConfig(t.Context(), store.Pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	run := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Error(err)
		}
	}
	run("SET lock_timeout = '100ms'") // a longer wait is an error
	run("BEGIN")
	run("SELECT FROM idempotency_keys WHERE key = '4321' FOR UPDATE") // held to the end of the purge
	ada := id.New()
	var from time.Time
	var purged int64
	for i := 0; ; i++ {
		n, goOn, err := store.Purge(t.Context(), from, noon.Add(time.Hour), 1000)
		if err != nil {
			t.Fatal(err)
		}
		purged, from = purged+n, goOn
		run(insert, ada, strconv.Itoa(i), 422, nil, noon.Add(2*time.Hour))
		if n < 1000 {
			break
		}
	}
	if purged != 49_999 {
		t.Errorf("purged %d, want all but the one that is locked", purged)
	}
	run("COMMIT")
	if n, _, err := store.Purge(t.Context(), time.Time{}, noon.Add(time.Hour), 1000); n != 1 || err != nil {
		t.Errorf("then purged %d, %v; want the one that was locked", n, err)
	}
}

// A late batch looks at as many pages as an early one, although an old snapshot keeps all that were deleted in between.
func TestPurgeDoesNotWalkPastWhatIsGone(t *testing.T) {
	t.Parallel()
	store := idempotency.Store{Pool: dbtest.Pool(t)}
	stored(t, store, 50_000)
	audit, err := store.Pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = audit.Rollback(context.Background()) }()
	if _, err := audit.Exec(t.Context(), "SELECT FROM idempotency_keys LIMIT 1"); err != nil {
		t.Fatal(err)
	}
	var from time.Time
	var pages []int64
	for n := int64(1000); n == 1000; {
		before := touched(t, store)
		if n, from, err = store.Purge(t.Context(), from, noon.Add(time.Hour), 1000); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, touched(t, store)-before)
	}
	if early, late := pages[10], pages[49]; late > early+early/10 {
		t.Errorf("the 10th batch looked at %d pages, the 50th at %d", early, late)
	}
}

// touched is how many pages of the table and its indexes were looked at by now.
func touched(t *testing.T, store idempotency.Store) (pages int64) {
	t.Helper()
	const query = `
SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit
FROM pg_statio_user_tables WHERE relname = 'idempotency_keys'`
	_, err := store.Pool.Exec(t.Context(), "SELECT pg_stat_force_next_flush()")
	if err = errors.Join(err, store.Pool.QueryRow(t.Context(), query).Scan(&pages)); err != nil {
		t.Fatal(err)
	}
	return pages
}
