package webhooks_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/webhooks"
)

// notes is an Observer that keeps what it is told.
type notes struct {
	mu        sync.Mutex
	attempts  map[webhooks.Result]int
	waited    time.Duration // the longest
	delivered int
	dead      int
	backlog   *webhooks.Backlog // the last
}

func (n *notes) Attempted(result webhooks.Result, waited time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.attempts == nil {
		n.attempts = map[webhooks.Result]int{}
	}
	n.attempts[result]++
	n.waited = max(n.waited, waited)
}

func (n *notes) Ended(delivered bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if delivered {
		n.delivered++
	} else {
		n.dead++
	}
}

func (n *notes) Backlog(b *webhooks.Backlog) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.backlog = b
}

// is reports whether the last backlog passes.
func (n *notes) is(ok func(webhooks.Backlog) bool) func() bool {
	return func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.backlog != nil && ok(*n.backlog)
	}
}

func (n *notes) ended() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.delivered + n.dead
}

func watched() (webhooks.Options, *notes) {
	opts, n := quick(), &notes{}
	opts.Observer, opts.Measure = n, 10*time.Millisecond
	return opts, n
}

func TestEveryAttemptAndEveryEndIsTold(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace := b.holder(), b.holder()
	opts, n := watched()
	opts.MaxAttempts = 2
	s, stop := b.run(opts)
	p := newPartner(t, func(w http.ResponseWriter, call int) {
		if call == 1 {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	gone := newPartner(t, nil)
	gone.Close()
	b.hook(s, ada, p.URL)
	b.hook(s, ada, gone.URL)
	b.send(ada, grace, 1)
	eventually(t, "end of both deliveries", func() bool { return n.ended() == 2 })
	eventually(t, "dead one in the backlog", n.is(func(got webhooks.Backlog) bool { return got == webhooks.Backlog{Dead: 1} }))
	stop()
	want := map[webhooks.Result]int{webhooks.Refused: 1, webhooks.Taken: 1, webhooks.Unanswered: 2}
	if diff := cmp.Diff(want, n.attempts); diff != "" || n.delivered != 1 || n.dead != 1 {
		t.Errorf("%d delivered, %d dead, want 1 and 1; attempts:\n%s", n.delivered, n.dead, diff)
	}
	if n.backlog != nil {
		t.Errorf("a backlog %+v after the turn, want none", n.backlog)
	}
}

// TestTheLineBeforeAPartnerIsTimed: four calls at 20 a second take 150 ms, and the last of them waited for it.
func TestTheLineBeforeAPartnerIsTimed(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace := b.holder(), b.holder()
	opts, n := watched()
	opts.Rate = 20
	p := newPartner(t, nil)
	b.hook(webhooks.New(b.pool, opts), ada, p.URL)
	for range 4 {
		b.send(ada, grace, 1)
	}
	_, stop := b.run(opts)
	eventually(t, "four deliveries", func() bool { return n.ended() == 4 })
	stop()
	if least := 100 * time.Millisecond; n.waited < least {
		t.Errorf("the longest wait was %v, want at least %v", n.waited, least)
	}
}

func TestTheBacklogTellsDueFromWaiting(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace, eve := b.holder(), b.holder(), b.holder()
	opts, n := watched()
	opts.FirstRetry = time.Hour
	opts.Timeout = time.Minute
	s, _ := b.run(opts)
	refuses := newPartner(t, func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusInternalServerError) })
	done := make(chan struct{})
	hangs := newPartner(t, func(http.ResponseWriter, int) { <-done })
	t.Cleanup(func() { close(done) }) // before the partner is closed
	busy := newPartner(t, func(w http.ResponseWriter, _ int) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	b.hook(s, ada, refuses.URL)
	b.hook(s, grace, hangs.URL)
	b.send(ada, grace, 1)
	eventually(t, "one due, one waiting", n.is(func(got webhooks.Backlog) bool { return got == webhooks.Backlog{Due: 1, Waiting: 1} }))

	b.hook(s, eve, busy.URL)
	b.send(eve, ada, 1)
	busy.await(1)
	b.send(eve, ada, 1) // not sent, because its hook is to be left alone
	eventually(t, "all but the hanging one waiting", n.is(func(got webhooks.Backlog) bool { return got == webhooks.Backlog{Due: 1, Waiting: 5} }))
}

// TestTheLagIsTheOldestUnreadTransfers: an open transaction holds the reader up, and that can be seen.
func TestTheLagIsTheOldestUnreadTransfers(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace := b.holder(), b.holder()
	opts, n := watched()
	s, _ := b.run(opts)
	b.send(ada, grace, 1)
	eventually(t, "no lag where nobody listens", n.is(func(got webhooks.Backlog) bool { return got.Lag == 0 }))
	p := newPartner(t, nil)
	b.hook(s, ada, p.URL)

	open, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer open.Rollback(context.Background())
	if _, err := open.Exec(t.Context(), `SELECT pg_current_xact_id()`); err != nil {
		t.Fatal(err)
	}
	b.send(ada, grace, 1)
	eventually(t, "lag", n.is(func(got webhooks.Backlog) bool { return got.Lag > 100*time.Millisecond }))
	if calls := p.heard(); len(calls) != 0 {
		t.Errorf("%d calls while an earlier transaction is open", len(calls))
	}
	if err := open.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.await(1)
	eventually(t, "end of the lag", n.is(func(got webhooks.Backlog) bool { return got == webhooks.Backlog{} }))
}
