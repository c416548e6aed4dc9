package breaker_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/breaker"
)

// store is a memory store that can be away, and counts how often it is asked.
type store struct {
	*ratelimit.Memory
	away  atomic.Bool
	slow  atomic.Bool
	asked atomic.Int64
}

func (s *store) Take(ctx context.Context, claims []ratelimit.Claim, out []ratelimit.Status) error {
	s.asked.Add(1)
	if s.away.Load() {
		return errors.New("connection refused")
	}
	if s.slow.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Memory.Take(ctx, claims, out)
}

type fixture struct {
	store   *store
	limiter *ratelimit.Limiter
	claim   ratelimit.Claim
	mu      sync.Mutex
	changes []string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	p, err := ratelimit.NewPolicy(ratelimit.Policy{
		Name: "user", OnFailure: ratelimit.FailOpen, Share: true,
		Limit: ratelimit.Limit{Algorithm: ratelimit.FixedWindow, Quota: 10, Period: time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{
		store: &store{Memory: ratelimit.NewMemory(ratelimit.MemoryOptions{})},
		claim: ratelimit.Claim{Policy: p, Key: ratelimit.Key{Owner: "usr_1"}, Cost: 1},
	}
	f.limiter = &ratelimit.Limiter{
		Default: &ratelimit.Backend{Name: "redis", Store: f.store, Breaker: breaker.New("redis", breaker.Options{
			OnChange: func(name, from, to string) {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.changes = append(f.changes, name+" "+from+" "+to)
			},
		})},
		Local: ratelimit.NewMemory(ratelimit.MemoryOptions{}), Instances: 2,
	}
	return f
}

func (f *fixture) take(t *testing.T) ratelimit.Status {
	t.Helper()
	return f.limiter.Take(t.Context(), f.claim).Statuses[0]
}

// TestAStoreThatIsAwayIsLeftAlone and shared again within two seconds of its return, and nothing is made up for.
func TestAStoreThatIsAwayIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.take(t)
		f.store.away.Store(true)
		for range 100 {
			f.take(t)
		}
		if got := f.store.asked.Load(); got != 6 {
			t.Errorf("asked %d times, want once, then until five failures", got)
		}
		time.Sleep(10 * time.Second)
		for range 100 {
			f.take(t)
		}
		if got := f.store.asked.Load(); got != 7 {
			t.Errorf("asked %d times, want one more to see whether it is back", got)
		}
		f.store.away.Store(false)
		back := time.Now()
		for f.take(t).Local {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(back); took > 2*time.Second {
			t.Errorf("shared again after %v, want within two seconds", took)
		}
		if left := f.take(t).Remaining; left != 10-3 {
			t.Errorf("%d left, want 7: one before and two after the outage", left)
		}
		want := []string{
			"redis closed open", "redis open half-open", "redis half-open open", "redis open half-open", "redis half-open closed",
		}
		if diff := cmp.Diff(want, slices.Compact(f.changes)); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	})
}

func TestASilentStoreIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.store.slow.Store(true)
		begun := time.Now()
		for range 100 {
			f.take(t)
		}
		if took := time.Since(begun); took != 5*50*time.Millisecond {
			t.Errorf("100 requests waited %v in all, want the budgets of five", took)
		}
	})
}

// TestHalfOfTheCalls fails every other call, so that there are never five in a row.
func TestHalfOfTheCallsFail(t *testing.T) {
	t.Parallel()
	b := breaker.New("redis", breaker.Options{})
	for i := range 20 {
		done, ok := b.Ask()
		if !ok {
			t.Fatalf("open after %d calls", i)
		}
		if i%2 == 0 {
			done(nil)
		} else {
			done(errors.New("time-out"))
		}
	}
	if b.State() != "open" {
		t.Errorf("%s, want open", b.State())
	}
}

// TestClientsThatLeaveDoNotOpenIt cancels a thousand requests while the store is thinking, also when one of them is the
// one that should find out whether the store is back.
func TestClientsThatLeaveDoNotOpenIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		leave := func(n int) {
			f.store.slow.Store(true)
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for range n {
				all.Go(func() { f.limiter.Take(ctx, f.claim) })
			}
			synctest.Wait()
			cancel()
			all.Wait()
			f.store.slow.Store(false)
		}
		leave(1000)
		if st := f.take(t); st.Local || st.Unknown || st.Remaining != 9 {
			t.Errorf("after clients left: %+v, want it asked", st)
		}
		f.store.away.Store(true)
		for range 5 {
			f.take(t)
		}
		f.store.away.Store(false)
		time.Sleep(time.Second)
		leave(1)
		if st := f.take(t); st.Local || st.Remaining != 8 {
			t.Errorf("after the one who tried left: %+v, want it asked", st)
		}
	})
}
