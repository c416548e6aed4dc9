package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/ratelimit"
)

// broken is a store that cannot answer.
type broken struct {
	ratelimit.Store
	take func(context.Context) error
}

func (b broken) Take(ctx context.Context, _ []ratelimit.Claim, _ []ratelimit.Status) error {
	return b.take(ctx)
}

func (b broken) Peek(ctx context.Context, _ []ratelimit.Claim, _ []ratelimit.Status) error {
	return b.take(ctx)
}

func (b broken) Give(ctx context.Context, _ []ratelimit.Claim) error { return b.take(ctx) }

func refused(context.Context) error { return errors.New("connection refused") }

// deaf is a store that accepts the call and never answers, and does not listen to its context.
func deaf(t *testing.T) func(context.Context) error {
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	return func(context.Context) error { <-end; return nil }
}

// watcher writes down what an observer is told.
type watcher struct {
	mu       sync.Mutex
	told     []string
	onTrial  []string // whom policies on trial would have refused
	failures int
}

func (w *watcher) Decided(policy string, outcome ratelimit.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, fmt.Sprintf("%s %s", policy, outcome))
}

func (w *watcher) WouldRefuse(policy, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onTrial = append(w.onTrial, policy+" "+key)
}

func (w *watcher) StoreFailed(string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures++
}

func memoryBackend(now func() time.Time) *ratelimit.Backend {
	return &ratelimit.Backend{Name: "memory", Store: ratelimit.NewMemory(ratelimit.MemoryOptions{Now: now})}
}

// TestLimiterWhenTheStoreIsDown is the lesson's seventh figure: a general limit opens, a log-in limit shuts.
func TestLimiterWhenTheStoreIsDown(t *testing.T) {
	t.Parallel()
	d := ratelimit.DefaultPolicies()
	for _, c := range []struct {
		policy      *ratelimit.Policy
		allowed     bool
		unavailable bool
		told        string
	}{
		{d.User, true, false, "user failed_open"},
		{d.LoginAccount, false, true, "login-account failed_closed"},
	} {
		for name, take := range map[string]func(context.Context) error{"refuses": refused, "is deaf": deaf(t)} {
			t.Run(c.policy.Name+" "+name, func(t *testing.T) {
				t.Parallel()
				w := &watcher{}
				l := &ratelimit.Limiter{
					Default:  &ratelimit.Backend{Name: "redis", Store: broken{take: take}, Budget: 20 * time.Millisecond},
					Observer: w,
				}
				begun := time.Now()
				got := l.Take(t.Context(), claim(c.policy, "k", 1))
				if took := time.Since(begun); took > time.Second {
					t.Errorf("decided after %v, want within the budget", took)
				}
				if got.Allowed != c.allowed || got.Unavailable != c.unavailable || len(got.Violated) != 0 {
					t.Errorf("got %+v, want allowed %v, unavailable %v, nobody violated", got, c.allowed, c.unavailable)
				}
				if w.failures != 1 || !slices.Equal(w.told, []string{c.told}) {
					t.Errorf("told of %d failures and %q, want 1 and %q", w.failures, w.told, c.told)
				}
			})
		}
	}
}

func TestLimiterOneClosedPolicyClosesTheStage(t *testing.T) {
	t.Parallel()
	d := ratelimit.DefaultPolicies()
	l := &ratelimit.Limiter{Default: &ratelimit.Backend{Name: "redis", Store: broken{take: refused}}}
	if got := l.Take(t.Context(), claim(d.User, "k", 1), claim(d.LoginIP, "k", 1)); got.Allowed || !got.Unavailable {
		t.Errorf("got %+v, want unavailable", got)
	}
}

func TestLimiterAPanicOfAStoreIsAFailure(t *testing.T) {
	t.Parallel()
	l := &ratelimit.Limiter{Default: &ratelimit.Backend{Name: "redis", Store: broken{}}} // take is nil
	if got := l.Take(t.Context(), claim(ratelimit.DefaultPolicies().User, "k", 1)); !got.Allowed {
		t.Errorf("got %+v, want to fail open", got)
	}
}

// TestLimiterAClientThatLeavesIsNoFailure cancels a thousand requests while the store is thinking.
func TestLimiterAClientThatLeavesIsNoFailure(t *testing.T) {
	t.Parallel()
	w := &watcher{}
	asked := make(chan struct{}, 1000)
	thinking := func(ctx context.Context) error { asked <- struct{}{}; <-ctx.Done(); return ctx.Err() }
	l := &ratelimit.Limiter{
		Default:  &ratelimit.Backend{Name: "redis", Store: broken{take: thinking}, Budget: time.Minute},
		Observer: w,
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 1000 {
		all.Go(func() {
			if d := l.Take(ctx, claim(ratelimit.DefaultPolicies().User, "k", 1)); d.Allowed {
				t.Error("a request nobody waits for was allowed")
			}
		})
	}
	for range 1000 {
		<-asked
	}
	cancel()
	all.Wait()
	if w.failures != 0 || len(w.told) != 0 {
		t.Errorf("told of %d failures and %d decisions, want none", w.failures, len(w.told))
	}
}

// TestLimiterStackedPolicies: the violated one sets the wait, the other keeps what it has.
func TestLimiterStackedPolicies(t *testing.T) {
	t.Parallel()
	c := newClock()
	w := &watcher{}
	l := &ratelimit.Limiter{Default: memoryBackend(c.Now), Observer: w}
	hour := policy(t, "hour", bucket(1000, time.Hour, 1000), ratelimit.FailOpen)
	minute := policy(t, "minute", bucket(5, time.Minute, 5), ratelimit.FailOpen)
	l.Take(t.Context(), claim(hour, "k", 2))
	l.Take(t.Context(), claim(minute, "k", 5))
	w.told = nil

	d := l.Take(t.Context(), claim(hour, "k", 1), claim(minute, "k", 1))
	if d.Allowed || d.Unavailable || d.RetryAfter != 12*time.Second {
		t.Errorf("got %+v, want refused for 12s", d)
	}
	if diff := cmp.Diff([]string{"minute"}, d.Violated); diff != "" {
		t.Errorf("violated (-want +got):\n%s", diff)
	}
	if d.Statuses[0].Remaining != 998 || d.Statuses[1].Remaining != 0 {
		t.Errorf("got %+v, want 998 and 0 left", d.Statuses)
	}
	if diff := cmp.Diff([]string{"minute refused"}, w.told); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
}

func TestLimiterNeverHasNoWait(t *testing.T) {
	t.Parallel()
	l := &ratelimit.Limiter{Default: memoryBackend(newClock().Now)}
	a := policy(t, "a", bucket(1, time.Minute, 1), ratelimit.FailOpen)
	b := policy(t, "b", bucket(1, time.Minute, 5), ratelimit.FailOpen)
	l.Take(t.Context(), claim(a, "k", 1))
	d := l.Take(t.Context(), claim(a, "k", 1), claim(b, "k", 6))
	if d.Allowed || !d.Never() || d.RetryAfter != 0 || !slices.Equal(d.Violated, []string{"a", "b"}) {
		t.Errorf("got %+v, want never, by both, with no wait", d)
	}
}

// TestLimiterSeveralStores: what one store charged comes back when another refuses, in either order.
func TestLimiterSeveralStores(t *testing.T) {
	t.Parallel()
	c := newClock()
	here := policy(t, "here", bucket(10, time.Hour, 10), ratelimit.FailOpen)
	there := policy(t, "there", bucket(1, time.Hour, 1), ratelimit.FailOpen)
	l := &ratelimit.Limiter{
		Default:  memoryBackend(c.Now),
		Backends: map[string]*ratelimit.Backend{"there": memoryBackend(c.Now)},
	}
	first := l.Take(t.Context(), claim(here, "k", 3), claim(there, "k", 1), claim(here, "k", 1))
	if !first.Allowed || first.Statuses[0].Remaining != 6 || first.Statuses[2].Remaining != 6 {
		t.Fatalf("got %+v, want allowed with 6 left here", first)
	}
	for _, claims := range [][]ratelimit.Claim{
		{claim(here, "k", 4), claim(there, "k", 1)},
		{claim(there, "k", 1), claim(here, "k", 4)},
	} {
		d := l.Take(t.Context(), claims...)
		if d.Allowed || !slices.Equal(d.Violated, []string{"there"}) {
			t.Errorf("got %+v, want refused by there alone", d)
		}
		for i, c := range claims {
			if c.Policy == here && d.Statuses[i].Remaining != 6 {
				t.Errorf("here has %d left in the decision, want 6", d.Statuses[i].Remaining)
			}
		}
		if left := l.Peek(t.Context(), claim(here, "k", 0)).Statuses[0].Remaining; left != 6 {
			t.Errorf("here has %d left in the store, want 6", left)
		}
	}
	if err := l.Reset(t.Context(), claim(here, "k", 0), claim(there, "k", 0)); err != nil {
		t.Fatal(err)
	}
	if d := l.Take(t.Context(), claim(here, "k", 10), claim(there, "k", 1)); !d.Allowed {
		t.Errorf("after a reset of both: %+v", d)
	}
}

// TestLimiterKeys is the lesson's fourth figure: an office behind one address, and an attacker who makes up keys.
func TestLimiterKeys(t *testing.T) {
	t.Parallel()
	p := policy(t, "requests", bucket(1, time.Second, 10), ratelimit.FailOpen)
	anonymous := ratelimit.DefaultPolicies().Anonymous
	type request struct{ address, user string }
	var office, attack []request
	for i := range 60 {
		office = append(office, request{"102.89.4.17", fmt.Sprintf("colleague-%d", i%30)})
		attack = append(attack, request{"198.51.100.66", fmt.Sprintf("made-up-%d", i)})
	}
	known := func(r request) bool { return r.address == "102.89.4.17" }
	for _, c := range []struct {
		name           string
		claim          func(request) ratelimit.Claim
		office, attack int
	}{
		{"per address", func(r request) ratelimit.Claim { return claim(p, r.address, 1) }, 10, 10},
		{"per user", func(r request) ratelimit.Claim { return claim(p, r.user, 1) }, 60, 60},
		{"per verified user, else per address", func(r request) ratelimit.Claim {
			if known(r) {
				return claim(p, r.user, 1)
			}
			return claim(anonymous, r.address, 1)
		}, 60, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := &ratelimit.Limiter{Default: memoryBackend(newClock().Now)}
			for name, group := range map[string]struct {
				requests []request
				want     int
			}{"office": {office, c.office}, "attacker": {attack, c.attack}} {
				got := 0
				for _, r := range group.requests {
					if l.Take(t.Context(), c.claim(r)).Allowed {
						got++
					}
				}
				if got != group.want {
					t.Errorf("%s: %d of 60 admitted, want %d", name, got, group.want)
				}
			}
		})
	}
}
