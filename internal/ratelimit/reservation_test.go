package ratelimit_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// TestReservationOfGuesses: of fifty wrong passwords at once, five reach the hash; a right one is no guess and does
// not clear the wrong ones.
func TestReservationOfGuesses(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := &ratelimit.Limiter{Default: memoryBackend(c.Now)}
	guess := claim(ratelimit.DefaultPolicies().LoginAccount, "ada@example.com", 1)

	for range 20 { // right passwords
		d, slot := l.Reserve(t.Context(), guess)
		if !d.Allowed {
			t.Fatalf("a right password after others: %+v", d)
		}
		slot.Release(t.Context())
	}
	var hashed atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if d, _ := l.Reserve(t.Context(), guess); d.Allowed {
				hashed.Add(1)
			}
		})
	}
	all.Wait()
	if hashed.Load() != 5 {
		t.Errorf("%d of 50 wrong passwords reached the hash, want 5", hashed.Load())
	}
	c.Advance(10 * time.Minute)
	d, slot := l.Reserve(t.Context(), guess)
	if d.Allowed || d.RetryAfter != 5*time.Minute {
		t.Errorf("ten minutes later: %+v, want to wait five more", d)
	}
	slot.Release(t.Context())
	c.Advance(5 * time.Minute)
	if d, _ := l.Reserve(t.Context(), guess); !d.Allowed || d.Statuses[0].Remaining != 4 {
		t.Errorf("when the guesses have left: %+v, want 4 left", d)
	}
}

// TestReservationSettles: a replayed transfer costs as a read does.
func TestReservationSettles(t *testing.T) {
	t.Parallel()
	user := ratelimit.DefaultPolicies().User
	account := policy(t, "account", bucket(30, time.Minute, 30), ratelimit.FailOpen)
	for _, c := range []struct {
		name          string
		kept          []int64
		user, account int64
	}{
		{"released", nil, 10, 30},
		{"settled at a read's price", []int64{ratelimit.CostRead}, 9, 30},
		{"settled each by itself", []int64{2, 1}, 8, 29},
		{"settled at more than it took", []int64{99, 99}, 5, 29},
		{"settled below nothing", []int64{-5, 0}, 10, 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := &ratelimit.Limiter{Default: memoryBackend(newClock().Now)}
			d, r := l.Reserve(t.Context(), claim(user, "k", ratelimit.CostTransfer), claim(account, "k", 1))
			if !d.Allowed {
				t.Fatalf("got %+v", d)
			}
			gone, cancel := context.WithCancel(t.Context())
			cancel() // the client does not wait for it
			r.Settle(gone, c.kept...)
			r.Settle(gone)
			r.Release(gone)
			got := l.Peek(t.Context(), claim(user, "k", 0), claim(account, "k", 0)).Statuses
			if got[0].Remaining != c.user || got[1].Remaining != c.account {
				t.Errorf("%d and %d left, want %d and %d", got[0].Remaining, got[1].Remaining, c.user, c.account)
			}
		})
	}
}

// What is kept for good takes no room from what may still be given back.
func TestReservationIsKept(t *testing.T) {
	t.Parallel()
	c := newClock()
	tight := ratelimit.MemoryOptions{Now: c.Now, MaxKeys: 1} // a key's part has room for one reservation
	apart := away(c)
	apart.Local = ratelimit.NewMemory(tight)
	for name, l := range map[string]*ratelimit.Limiter{
		"in memory":        {Default: &ratelimit.Backend{Name: "memory", Store: ratelimit.NewMemory(tight)}},
		"in a local share": apart,
	} {
		one := claim(sharing(t, "user", bucket(30, time.Minute, 30)), "k", 1)
		for range 3 {
			_, slot := l.Reserve(t.Context(), one)
			slot.Keep()
		}
		before, slot := l.Reserve(t.Context(), one)
		slot.Release(t.Context())
		slot.Keep() // too late
		after := l.Take(t.Context(), one)
		if after.Statuses[0].Remaining != before.Statuses[0].Remaining {
			t.Errorf("%s: %d are left, then %d: what was released was not given back", name, before.Statuses[0].Remaining, after.Statuses[0].Remaining)
		}
	}
}

// listening is a store that admits, and gives back unless its context is done.
type listening struct{ ratelimit.Store }

func (listening) Take(_ context.Context, _ []ratelimit.Claim, out []ratelimit.Status) error {
	for i := range out {
		out[i].Allowed = true
	}
	return nil
}

func (listening) Give(ctx context.Context, _ []ratelimit.Claim) error { return ctx.Err() }

func TestReservationIsGivenBackWhenTheClientHasLeft(t *testing.T) {
	t.Parallel()
	w := &watcher{}
	l := &ratelimit.Limiter{Default: &ratelimit.Backend{Name: "redis", Store: listening{}}, Observer: w}
	ctx, leave := context.WithCancel(t.Context())
	_, slot := l.Reserve(ctx, claim(ratelimit.DefaultPolicies().LoginIP, "k", 1))
	leave()
	if slot.Release(ctx); w.failures != 0 {
		t.Error("it was not given back")
	}
}

func TestReservationOfWhatFailedOpenGivesNothingBack(t *testing.T) {
	t.Parallel()
	w := &watcher{}
	l := &ratelimit.Limiter{Default: &ratelimit.Backend{Name: "redis", Store: broken{take: refused}}, Observer: w}
	d, r := l.Reserve(t.Context(), claim(ratelimit.DefaultPolicies().User, "k", 5))
	if !d.Allowed || w.failures != 1 {
		t.Fatalf("got %+v and %d failures, want to fail open", d, w.failures)
	}
	if r.Release(t.Context()); w.failures != 1 {
		t.Errorf("%d failures, want the store left alone", w.failures)
	}
}
