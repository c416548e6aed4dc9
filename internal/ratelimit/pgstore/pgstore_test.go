package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/pgstore"
	"example.com/bankapi/internal/ratelimit/storetest"
)

// Case 17: of 50 log-ins that reserve their slots at once, over two processes, exactly 5 reach the hash. Refused ones
// do not prolong the wait, and a slot given back on success is free again.
func TestFiftyLogInsAtOnceReserveFiveSlots(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	stores := []*pgstore.Store{store(pool(t, url), nil), store(pool(t, url), nil)}
	account := policy("login-account", ratelimit.SlidingLog, 5, 15*time.Minute)
	address := policy("login-ip", ratelimit.SlidingLog, 20, 15*time.Minute)
	attempt := func(i int) []ratelimit.Claim {
		id := fmt.Sprint("attempt-", i)
		return []ratelimit.Claim{
			{Policy: account, Key: ratelimit.Key{Owner: "ada@example.com"}, Cost: 1, ID: id},
			{Policy: address, Key: ratelimit.Key{Owner: "10.0.0.1"}, Cost: 1, ID: id},
		}
	}
	var admitted atomic.Int64
	var last atomic.Int64
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			out := make([]ratelimit.Status, 2)
			if err := stores[i%2].Take(t.Context(), attempt(i), out); err != nil {
				t.Error(err)
			}
			if out[0].Allowed && out[1].Allowed {
				admitted.Add(1)
				last.Store(int64(i))
			}
		})
	}
	all.Wait()
	if n := admitted.Load(); n != 5 {
		t.Fatalf("%d of 50 reached the hash, want exactly 5", n)
	}
	before := peek(t, stores[0], attempt(99)...)
	for range 20 {
		take(t, stores[0], attempt(99)...)
	}
	after := peek(t, stores[1], attempt(99)...)
	if after[0].Wait > before[0].Wait || after[0].Wait <= 14*time.Minute {
		t.Errorf("twenty refused tries moved the wait from %v to %v", before[0].Wait, after[0].Wait)
	}
	if after[0].Remaining != 0 || after[1].Remaining != 15 {
		t.Errorf("got %+v, want 0 and 15 left: refused tries are charged nowhere", after)
	}
	if err := stores[1].Give(t.Context(), attempt(int(last.Load()))); err != nil {
		t.Fatal(err)
	}
	if st := take(t, stores[0], attempt(100)...); !st[0].Allowed {
		t.Errorf("after a success gave its slot back: got %+v, want admitted", st)
	}
}

func TestARefusalWritesNoRow(t *testing.T) {
	t.Parallel()
	p := dbtest.Pool(t)
	s := store(p, nil)
	for _, a := range known {
		c := claim(policy("p", a, 5, time.Hour), 6)
		take(t, s, c, claim(policy("q", a, 5, time.Hour), 1))
		c.Cost = 0
		take(t, s, c)
		c.Cost, c.ID = 5, "unknown"
		peek(t, s, c)
		if err := s.Give(t.Context(), []ratelimit.Claim{c}); err != nil {
			t.Fatal(err)
		}
	}
	if n := rows(t, p); n != 0 {
		t.Errorf("refusals, looks and unknown gifts left %d rows", n)
	}
}

func TestNoAddressStandsInTheTables(t *testing.T) {
	t.Parallel()
	config, err := pgxpool.ParseConfig(dbtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.RuntimeParams["bytea_output"] = "escape" // shows what is readable in it
	p, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c := claim(policy("login-account", ratelimit.SlidingLog, 5, time.Hour), 1)
	c.Key.Owner, c.Key.Part, c.ID = "ada@example.com", "bank_sess_secret", "bank_key_secret"
	take(t, store(p, nil), c)
	for _, table := range tables {
		var text string
		sql := "SELECT coalesce(string_agg(x::text, ' '), '') FROM " + table + " AS x"
		if err := p.QueryRow(t.Context(), sql).Scan(&text); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "ada") || strings.Contains(text, "secret") {
			t.Errorf("%s holds %s", table, text)
		}
	}
}

func TestPurgeDeletesWhatNoLongerCounts(t *testing.T) {
	t.Parallel()
	p := dbtest.Pool(t)
	clock := storetest.NewClock(time.UnixMicro(1_790_245_230_000_000))
	s := store(p, clock)
	for i := range 10 {
		for _, a := range known {
			c := claim(policy("p", a, 5, time.Minute), 1)
			c.Key.Owner, c.ID = fmt.Sprint(i), "r"
			take(t, s, c)
		}
	}
	kept := claim(policy("kept", ratelimit.SlidingLog, 5, time.Hour), 2)
	take(t, s, kept)
	before := rows(t, p)
	if n := purge(t, s, 100); n != 0 {
		t.Errorf("purged %d rows that count", n)
	}
	clock.Advance(2 * time.Minute)
	total := int64(0)
	for n := purge(t, s, 7); n > 0; n = purge(t, s, 7) {
		if total += n; n > 3*7 {
			t.Errorf("a batch of 7 deleted %d rows of three tables", n)
		}
	}
	if left := rows(t, p); left != 1 || total != before-1 {
		t.Errorf("purged %d of %d rows, %d left, want 1", total, before, left)
	}
	if st := peek(t, s, kept)[0]; st.Remaining != 3 {
		t.Errorf("what counts was purged: %+v", st)
	}
}

// A purge waits for nobody, and nobody is refused or admitted wrongly because of one.
func TestPurgeRunsBesideTakes(t *testing.T) {
	t.Parallel()
	p := dbtest.Pool(t)
	s := store(p, nil)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			if _, err := s.Purge(t.Context(), 50); err != nil {
				t.Errorf("purge: %v", err)
			}
		}
	})
	short := policy("short", ratelimit.SlidingLog, 3, 20*time.Millisecond)
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := range 60 {
				c := claim(short, 1)
				c.Key.Owner = fmt.Sprint((i + w) % 3)
				take(t, s, c, claim(policy("b", ratelimit.TokenBucket, 5, time.Millisecond), 1))
			}
		})
	}
	workers.Wait()
	stop()
	all.Wait()
}

func TestALookWaitsForNobody(t *testing.T) {
	t.Parallel()
	p := dbtest.Pool(t)
	s := store(p, nil)
	c := claim(policy("p", ratelimit.TokenBucket, 5, time.Hour), 1)
	take(t, s, c)
	tx, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "SELECT ratelimit_lock(ARRAY(SELECT key FROM ratelimit_counts))"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Take(ctx, []ratelimit.Claim{c}, make([]ratelimit.Status, 1)); err == nil {
		t.Error("a take of a locked key: got no error")
	}
	if st := peek(t, s, c)[0]; st.Remaining != 4 {
		t.Errorf("a look at a locked key: got %+v, want 4 left", st)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	// What was given up is not charged later.
	time.Sleep(100 * time.Millisecond)
	if st := peek(t, s, c)[0]; st.Remaining != 4 {
		t.Errorf("after a take that was given up: got %+v, want 4 left", st)
	}
}

func TestAnotherIsolationIsAnError(t *testing.T) {
	t.Parallel()
	config, err := pgxpool.ParseConfig(dbtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	p, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c := claim(policy("p", ratelimit.TokenBucket, 5, time.Hour), 1)
	err = store(p, nil).Take(t.Context(), []ratelimit.Claim{c}, make([]ratelimit.Status, 1))
	if err == nil || !strings.Contains(err.Error(), "READ COMMITTED") {
		t.Errorf("got %v, want an error that names READ COMMITTED", err)
	}
}

func TestASlidingCounterIsAnError(t *testing.T) {
	t.Parallel()
	c := claim(policy("p", ratelimit.SlidingCounter, 5, time.Hour), 1)
	err := store(dbtest.Pool(t), nil).Take(t.Context(), []ratelimit.Claim{c}, make([]ratelimit.Status, 1))
	if !errors.Is(err, pgstore.ErrAlgorithm) {
		t.Errorf("got %v, want ErrAlgorithm", err)
	}
}

func TestAStoreThatIsDownIsAnError(t *testing.T) {
	t.Parallel()
	s := store(pool(t, "postgres://nobody@127.0.0.1:1/none"), nil)
	c := claim(policy("p", ratelimit.SlidingLog, 5, time.Hour), 1)
	c.ID = "r"
	_, purgeErr := s.Purge(t.Context(), 1)
	for name, err := range map[string]error{
		"Take":  s.Take(t.Context(), []ratelimit.Claim{c}, make([]ratelimit.Status, 1)),
		"Peek":  s.Peek(t.Context(), []ratelimit.Claim{c}, make([]ratelimit.Status, 1)),
		"Give":  s.Give(t.Context(), []ratelimit.Claim{c}),
		"Reset": s.Reset(t.Context(), []ratelimit.Claim{c}),
		"Purge": purgeErr,
	} {
		if err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

var tables = []string{"ratelimit_counts", "ratelimit_log", "ratelimit_reservations"}

func rows(t testing.TB, p *pgxpool.Pool) (n int64) {
	t.Helper()
	for _, table := range tables {
		var count int64
		if err := p.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&count); err != nil {
			t.Fatal(err)
		}
		n += count
	}
	return n
}

func policy(name string, a ratelimit.Algorithm, quota int64, period time.Duration) *ratelimit.Policy {
	limit := ratelimit.Limit{Algorithm: a, Quota: quota, Period: period}
	return &ratelimit.Policy{Name: name, Limit: limit, OnFailure: ratelimit.FailClosed}
}

func claim(p *ratelimit.Policy, cost int64) ratelimit.Claim {
	return ratelimit.Claim{Policy: p, Key: ratelimit.Key{Owner: "ada"}, Cost: cost}
}

func take(t testing.TB, s *pgstore.Store, claims ...ratelimit.Claim) []ratelimit.Status {
	t.Helper()
	out := make([]ratelimit.Status, len(claims))
	if err := s.Take(t.Context(), claims, out); err != nil {
		t.Error(err)
	}
	return out
}

func peek(t testing.TB, s *pgstore.Store, claims ...ratelimit.Claim) []ratelimit.Status {
	t.Helper()
	out := make([]ratelimit.Status, len(claims))
	if err := s.Peek(t.Context(), claims, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func purge(t testing.TB, s *pgstore.Store, batch int) int64 {
	t.Helper()
	n, err := s.Purge(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
