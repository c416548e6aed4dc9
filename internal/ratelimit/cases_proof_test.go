package ratelimit_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// CASES limiter 1, as a client meets it: five in 300 s, all taken at 0. Whoever waits as told is admitted.
func TestRetryAfterOfFiveInFiveMinutes(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := &ratelimit.Limiter{Default: memoryBackend(c.Now), Now: c.Now}
	p := policy(t, "p", bucket(5, 300*time.Second, 5), ratelimit.FailOpen)
	l.Take(t.Context(), claim(p, "k", 5))
	begun := c.Now()
	for _, step := range []struct {
		at      time.Duration
		allowed bool
		header  string
	}{
		{59 * time.Second, false, "1"},
		{59200 * time.Millisecond, false, "1"},
		{60*time.Second - time.Microsecond, false, "1"},
		{60 * time.Second, true, ""},
	} {
		c.Advance(step.at - c.Now().Sub(begun))
		d, h := l.Take(t.Context(), claim(p, "k", 1)), http.Header{}
		ratelimit.WriteHeaders(h, d)
		if got := h.Get("Retry-After"); d.Allowed != step.allowed || got != step.header {
			t.Errorf("at %v: allowed %v, Retry-After %q; want %v and %q", step.at, d.Allowed, got, step.allowed, step.header)
		}
	}
}

// CASES limiter 2: what can never pass has no Retry-After.
func TestNeverHasNoRetryAfter(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := &ratelimit.Limiter{Default: memoryBackend(c.Now), Now: c.Now}
	p := policy(t, "p", bucket(1, time.Second, 10), ratelimit.FailOpen)
	d, h := l.Take(t.Context(), claim(p, "k", 11)), http.Header{}
	ratelimit.WriteHeaders(h, d)
	if d.Allowed || !d.Never() || h.Get("Retry-After") != "" || h.Get("X-RateLimit-Remaining") != "10" {
		t.Errorf("cost 11 of 10: %+v with headers %v, want never, no Retry-After and 10 left", d, h)
	}
}

// CASES limiter 3: of three policies the third refuses, and nobody is charged.
func TestOnlyTheThirdOfThreeIsViolated(t *testing.T) {
	t.Parallel()
	l := &ratelimit.Limiter{Default: memoryBackend(newClock().Now)}
	var claims []ratelimit.Claim
	for _, p := range []struct {
		name       string
		most, cost int64
	}{{"a", 10, 4}, {"b", 5, 1}, {"c", 3, 2}} {
		claims = append(claims, claim(policy(t, p.name, bucket(1, 24*time.Hour, p.most), ratelimit.FailOpen), "k", p.cost))
	}
	for _, allowed := range []bool{true, false, false} {
		d := l.Take(t.Context(), claims...)
		if d.Allowed != allowed || !allowed && !slices.Equal(d.Violated, []string{"c"}) {
			t.Fatalf("got %+v, want allowed %v and nobody but c violated", d, allowed)
		}
		for i, want := range []int64{6, 4, 1} {
			if got := d.Statuses[i].Remaining; got != want {
				t.Errorf("%s has %d left, want %d", d.Claims[i].Policy.Name, got, want)
			}
		}
	}
}
