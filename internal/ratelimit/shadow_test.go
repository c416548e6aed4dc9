package ratelimit_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/ratelimit"
)

func trial(t *testing.T, name string, l ratelimit.Limit) *ratelimit.Policy {
	t.Helper()
	p, err := ratelimit.NewPolicy(ratelimit.Policy{Name: name, Limit: l, OnFailure: ratelimit.FailClosed, Shadow: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestShadowRefusesNobody and tells what it would have refused.
func TestShadowRefusesNobody(t *testing.T) {
	t.Parallel()
	w := &watcher{}
	c := newClock()
	l := &ratelimit.Limiter{Default: memoryBackend(c.Now), Observer: w}
	user := policy(t, "user", bucket(1, time.Hour, 4), ratelimit.FailOpen)
	strict := trial(t, "strict", bucket(1, time.Hour, 2))
	h := http.Header{}
	for i := range 5 {
		d := l.Take(t.Context(), claim(strict, "k", 1), claim(user, "k", 1), claim(strict, "k", 3))
		if d.Allowed != (i < 4) || d.Never() || i < 4 && len(d.Violated) > 0 {
			t.Errorf("request %d: %+v", i, d)
		}
		ratelimit.WriteHeaders(h, d)
	}
	admitted, refused, never, user1 := "strict would_admit", "strict would_refuse", "strict would_refuse", "user admitted"
	want := []string{
		admitted, user1, never, admitted, user1, never, refused, user1, never, refused, user1, never,
		"user refused", // and the trial is not told of it
	}
	if diff := cmp.Diff(want, w.told); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
	if got := h.Get("RateLimit-Policy"); got != `"user";q=4;w=14400` {
		t.Errorf("policies %s, want user alone", got)
	}
	if left := l.Peek(t.Context(), claim(strict, "k", 0)).Statuses[0].Remaining; left != 0 {
		t.Errorf("%d left on trial, want 0", left)
	}
}

// TestShadowNamesWhomItWouldRefuse, as the list of the most refused does, and only there where it is kept.
func TestShadowNamesWhomItWouldRefuse(t *testing.T) {
	t.Parallel()
	w := &watcher{}
	l := &ratelimit.Limiter{Default: memoryBackend(newClock().Now), Observer: w}
	strict := trial(t, "strict", bucket(1, time.Hour, 1))
	l.Take(t.Context(), claim(strict, "ada@example.com", 1))
	l.Take(t.Context(), claim(strict, "ada@example.com", 1))
	l.Refusals = ratelimit.NewRefusals(0)
	l.Take(t.Context(), claim(strict, "ada@example.com", 1))
	want := []string{"strict ", "strict " + l.Refusals.Name("strict", ratelimit.Key{Owner: "ada@example.com"})}
	if diff := cmp.Diff(want, w.onTrial); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if top := l.Refusals.Top(time.Now(), 10); len(top) != 0 {
		t.Errorf("%v among the refused, but nobody was", top)
	}
}

// TestShadowIsGivenBack: a trial of a limit that reserves shows what it would be in force.
func TestShadowIsGivenBack(t *testing.T) {
	t.Parallel()
	l := &ratelimit.Limiter{Default: memoryBackend(newClock().Now)}
	strict := trial(t, "strict", limit(ratelimit.SlidingLog, 2, time.Hour))
	look := func() int64 { return l.Peek(t.Context(), claim(strict, "k", 0)).Statuses[0].Remaining }
	_, first := l.Reserve(t.Context(), claim(strict, "k", 1))
	_, second := l.Reserve(t.Context(), claim(strict, "k", 1))
	_, third := l.Reserve(t.Context(), claim(strict, "k", 1)) // would be refused
	if third.Release(t.Context()); look() != 0 {
		t.Errorf("%d left, want 0: the third had taken nothing", look())
	}
	second.Settle(t.Context(), 1)
	if first.Release(t.Context()); look() != 1 {
		t.Errorf("%d left, want 1", look())
	}
}

func TestShadowWithoutItsStore(t *testing.T) {
	t.Parallel()
	w := &watcher{}
	l := &ratelimit.Limiter{Default: &ratelimit.Backend{Name: "redis", Store: broken{take: refused}}, Observer: w}
	if d := l.Take(t.Context(), claim(trial(t, "strict", bucket(1, time.Hour, 1)), "k", 1)); !d.Allowed || d.Unavailable {
		t.Errorf("got %+v, want allowed though it fails closed", d)
	}
	if w.failures != 1 || len(w.told) != 0 {
		t.Errorf("told of %d failures and %q, want 1 and nothing decided", w.failures, w.told)
	}
}

// TestUnlimitedIsAWord: no store is asked, no header written.
func TestUnlimitedIsAWord(t *testing.T) {
	t.Parallel()
	w := &watcher{}
	l := &ratelimit.Limiter{Default: &ratelimit.Backend{Name: "redis", Store: broken{take: refused}}, Observer: w}
	off := policy(t, "off", ratelimit.Limit{Algorithm: ratelimit.Unlimited}, ratelimit.FailClosed)
	d, slot := l.Reserve(t.Context(), claim(off, "k", 1_000_000))
	slot.Release(t.Context())
	h := http.Header{}
	ratelimit.WriteHeaders(h, d)
	if !d.Allowed || !d.Statuses[0].Exempt || len(h) != 0 {
		t.Errorf("got %+v and headers %v, want exempt without any", d, h)
	}
	if d := l.Peek(t.Context(), claim(off, "k", 0)); !d.Allowed {
		t.Errorf("a look: %+v", d)
	}
	if err := l.Reset(t.Context(), claim(off, "k", 0)); err != nil {
		t.Errorf("a reset: %v", err)
	}
	if diff := cmp.Diff([]string{"off exempt"}, w.told); diff != "" || w.failures != 0 {
		t.Errorf("%d failures, observed (-want +got):\n%s", w.failures, diff)
	}
	m := ratelimit.NewMemory(ratelimit.MemoryOptions{})
	if m.Take(t.Context(), []ratelimit.Claim{claim(off, "k", 1)}, make([]ratelimit.Status, 1)) == nil {
		t.Error("a store was asked and returned no error")
	}
}

func TestExemptClaimsAreNotCounted(t *testing.T) {
	t.Parallel()
	w := &watcher{}
	l := &ratelimit.Limiter{Default: memoryBackend(newClock().Now), Observer: w}
	user := policy(t, "user", bucket(1, time.Hour, 1), ratelimit.FailOpen)
	all := policy(t, "all", bucket(1, time.Hour, 3), ratelimit.FailOpen)
	spared := claim(user, "monitor", 1)
	spared.Exempt = true
	for range 2 {
		if d := l.Take(t.Context(), spared, claim(all, "everybody", 1)); !d.Allowed {
			t.Errorf("got %+v, want admitted", d)
		}
	}
	if diff := cmp.Diff([]string{"user exempt", "all admitted", "user exempt", "all admitted"}, w.told); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
	if d := l.Peek(t.Context(), spared, claim(all, "everybody", 0)); !d.Statuses[0].Exempt || d.Statuses[1].Remaining != 1 {
		t.Errorf("got %+v, want the one exempt and the other with 1 left", d)
	}
	if !l.Take(t.Context(), claim(user, "ada", 1)).Allowed || l.Take(t.Context(), claim(user, "ada", 1)).Allowed {
		t.Error("others are counted no longer")
	}
}
