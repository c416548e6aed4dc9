package idempotency_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	for _, want := range []int64{3, 3, 1, 0} {
		if got, err := store.Purge(t.Context(), noon.Add(7*time.Hour), 3); err != nil || got != want {
			t.Errorf("purged %d, %v; want %d", got, err, want)
		}
	}
	for key, want := range map[string]idempotency.State{"6": idempotency.Unknown, "7": idempotency.Done} {
		if got, err := store.Find(t.Context(), ada, "POST /transfers", key); err != nil || got.State != want {
			t.Errorf("key %s: %+v, %v; want %s", key, got, err, want)
		}
	}
}
