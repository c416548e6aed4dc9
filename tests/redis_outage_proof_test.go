package tests

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
)

// TestRedisStoppedUnderLoad stops Redis under the load of two processes and starts it again: reads go on, log-in goes on
// (it is counted in PostgreSQL), a warning and a metric tell of it, and two seconds after Redis is back limits are
// shared again. Redis comes back empty, so what it counts then shows that nothing of the outage is replayed.
func TestRedisStoppedUnderLoad(t *testing.T) {
	t.Parallel()
	redis, database := dbtest.PrivateRedis(t), "DATABASE_URL="+dbtest.URL(t)
	door := fleet(t, 1, database)[0]
	all := fleet(t, 2, database, "REDIS_URL="+redis.URL(), limitsFile(t, "user", "quota: 1, period: 1h, burst: 10", "ip", generous, "anonymous", generous))
	busy, spare := somebody(t, door.URL), somebody(t, door.URL)
	busy.When, spare.When = unknown, unknown
	stream := newStream(t, all, busy)

	time.Sleep(200 * time.Millisecond)
	redis.Kill()
	time.Sleep(time.Second)
	guess := caller{URL: all[0].URL, Address: "192.0.2.1", When: unknown}
	if got := guess.do(t, "POST", "/sessions", `{"email":"nobody@example.com","password":"not-the-right-password"}`); got.Status != http.StatusUnauthorized {
		t.Errorf("log-in without Redis: %s, want 401: it is counted elsewhere", got)
	}
	for _, s := range all {
		if !strings.Contains(s.log.String(), "limiter store failed") {
			t.Errorf("no warning of %s about the lost store", s.URL)
		}
		if !strings.Contains(caller{URL: s.Admin}.raw(t, "/metrics"), `store_failures_total{store="redis"}`) {
			t.Errorf("no metric of %s counts the store's failures", s.URL)
		}
	}
	redis.Start()
	time.Sleep(2 * time.Second)
	stream.end(t)

	undisturbed(t, all, func(round int) func() {
		if round > 0 {
			spare = somebody(t, door.URL)
			spare.When = unknown
		}
		// The first process has 10 admitted; the second knows that.
		admitted := 0
		for i := range 20 {
			spare.URL = all[i%2].URL
			if spare.do(t, "GET", "/me", "").Status == http.StatusOK {
				admitted++
			}
		}
		return func() {
			if admitted != 10 {
				t.Errorf("two seconds after Redis is back, 10 of a shared bucket: %d of 20 admitted over two processes", admitted)
			}
		}
	})
}

// stream is requests of one user that go on until it ends.
type stream struct {
	over    atomic.Bool
	workers sync.WaitGroup

	mu    sync.Mutex
	took  []time.Duration
	seen  map[int]int
	fault error
}

func newStream(t *testing.T, all []*server, c caller) *stream {
	t.Helper()
	l := &stream{seen: map[int]int{}}
	for _, s := range all {
		here := c
		here.URL = s.URL
		for range 2 {
			l.workers.Go(func() {
				for !l.over.Load() {
					begun := time.Now()
					got, err := here.try(t, "GET", "/me", "")
					l.note(got.Status, time.Since(begun), err)
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
	}
	return l
}

func (l *stream) note(status int, took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[status]++
	l.took = append(l.took, took)
	if err != nil {
		l.fault = err
	}
}

// end stops the stream; every request must have been answered 200 or 429.
func (l *stream) end(t *testing.T) {
	t.Helper()
	l.over.Store(true)
	l.workers.Wait()
	slices.Sort(l.took)
	t.Logf("answers %v, the median took %v and the slowest %v", l.seen, l.took[len(l.took)/2], l.took[len(l.took)-1])
	for status := range l.seen {
		if status != http.StatusOK && status != http.StatusTooManyRequests {
			t.Errorf("%d requests were answered %d (%v), want 200 or 429", l.seen[status], status, l.fault)
		}
	}
}

// TestRedisPausedUnderLoad freezes Redis: it accepts connections and never answers (CASES limiter 16). Every request is
// decided inside the time budget, and what was waiting in front of it is not applied when it wakes up, but for what
// its sockets held already.
func TestRedisPausedUnderLoad(t *testing.T) {
	t.Parallel()
	redis, database := dbtest.PrivateRedis(t), "DATABASE_URL="+dbtest.URL(t)
	door := fleet(t, 1, database)[0]
	s := fleet(t, 1, database, "REDIS_URL="+redis.URL(), limitsFile(t, "user", "quota: 1, period: 1h, burst: 1000", "ip", generous, "anonymous", generous))[0]
	user := somebody(t, door.URL)
	user.When = unknown
	user = user.at(t, s)
	before := left(t, user)
	redis.Pause()
	var wg sync.WaitGroup
	const requests = 200
	took := make([]time.Duration, requests)
	turns := make(chan struct{}, 20)
	for i := range took {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			begun := time.Now()
			if got := user.do(t, "GET", "/me", ""); got.Status != http.StatusOK {
				t.Errorf("request %d while Redis is silent: %s", i, got)
			}
			took[i] = time.Since(begun)
		})
	}
	wg.Wait()
	// A few budgets of 50 ms for those that find out, nothing for the others; the rest is how busy this machine is.
	slices.Sort(took)
	if most, slowest := took[requests*9/10], took[requests-1]; most > 500*time.Millisecond || slowest > 10*time.Second {
		t.Errorf("nine in ten of %d requests took up to %v, the slowest %v", requests, most, slowest)
	}
	redis.Resume()
	time.Sleep(time.Second)
	after := left(t, user.at(t, s))
	t.Logf("nine in ten took up to %v, the slowest %v; %d left before and %d after", took[requests*9/10], took[requests-1], before, after)
	if applied := before - after; applied < 0 || applied > 30 {
		t.Errorf("%d of %d requests were charged when Redis woke up, want none but those in its sockets", applied, requests)
	}
}

// left is what the user policy has left, by GET /limits.
func left(t *testing.T, c caller) int {
	t.Helper()
	got := c.do(t, "GET", "/limits", "")
	_, rest, found := strings.Cut(string(got.Body), `"policy":"user"`)
	_, rest, _ = strings.Cut(rest, `"remaining":`)
	var n int
	if _, err := fmt.Sscanf(rest, "%d", &n); err != nil || !found {
		t.Fatalf("GET /limits: %s", got)
	}
	return n
}
