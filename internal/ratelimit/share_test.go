package ratelimit_test

import (
	"math"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/ratelimit"
)

func sharing(t *testing.T, name string, l ratelimit.Limit) *ratelimit.Policy {
	t.Helper()
	p, err := ratelimit.NewPolicy(ratelimit.Policy{Name: name, Limit: l, OnFailure: ratelimit.FailOpen, Share: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// away is a limiter of three whose store does not answer.
func away(c *clock) *ratelimit.Limiter {
	return &ratelimit.Limiter{
		Default:   &ratelimit.Backend{Name: "redis", Store: broken{take: refused}},
		Local:     ratelimit.NewMemory(ratelimit.MemoryOptions{Now: c.Now}),
		Instances: 3,
		Now:       c.Now,
	}
}

// TestShareIsAPartOfTheLimit: three processes by themselves admit at most what one count would.
func TestShareIsAPartOfTheLimit(t *testing.T) {
	t.Parallel()
	for _, l := range []ratelimit.Limit{
		bucket(2, time.Second, 10), limit(ratelimit.FixedWindow, 10, time.Hour), limit(ratelimit.SlidingLog, 10, time.Hour),
		limit(ratelimit.SlidingCounter, 10, time.Hour), limit(ratelimit.LeakyBucket, 10, time.Hour), calendar(ratelimit.Day, 10, nil),
	} {
		c := newClock()
		w := &watcher{}
		lim := away(c)
		lim.Observer = w
		p := sharing(t, "user", l)
		for left := int64(2); left >= 0; left-- {
			d := lim.Take(t.Context(), claim(p, "k", 1))
			if st := d.Statuses[0]; !d.Allowed || !st.Local || st.Unknown || st.Remaining != left {
				t.Errorf("%v: %+v, want %d left", l.Algorithm, st, left)
			}
		}
		d := lim.Take(t.Context(), claim(p, "k", 1))
		if d.Allowed || d.Unavailable || d.RetryAfter <= 0 || !slices.Equal(d.Violated, []string{"user"}) {
			t.Errorf("%v: the fourth: %+v, want refused", l.Algorithm, d)
		}
		if c.Advance(d.RetryAfter); !lim.Take(t.Context(), claim(p, "k", 1)).Allowed {
			t.Errorf("%v: refused after waiting as told", l.Algorithm)
		}
		want := []string{"user admitted_here", "user admitted_here", "user admitted_here", "user refused_here", "user admitted_here"}
		if diff := cmp.Diff(want, w.told); diff != "" || w.failures != 5 {
			t.Errorf("%v: %d failures, observed (-want +got):\n%s", l.Algorithm, w.failures, diff)
		}
	}
}

func TestShareLetsThroughWhatIsDearerThanIt(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := away(c)
	p := sharing(t, "user", bucket(2, time.Second, 10))
	if d := l.Take(t.Context(), claim(p, "k", 5)); !d.Allowed || d.Statuses[0].Remaining != 0 {
		t.Errorf("a transfer: %+v, want admitted with nothing left", d)
	}
	if d := l.Take(t.Context(), claim(p, "k", 5)); d.Allowed || d.RetryAfter != 5*time.Second {
		t.Errorf("another: %+v, want to wait 5s", d)
	}
	for _, cost := range []int64{11, math.MaxInt64} {
		if d := l.Take(t.Context(), claim(p, "k", cost)); d.Allowed || !d.Never() {
			t.Errorf("cost %d: %+v, want never", cost, d)
		}
	}
	if d := l.Take(t.Context(), claim(p, "k", 0)); !d.Allowed {
		t.Errorf("cost 0: %+v", d)
	}
}

func TestShareInHeaders(t *testing.T) {
	t.Parallel()
	l := away(newClock())
	h := http.Header{}
	ratelimit.WriteHeaders(h, l.Take(t.Context(), claim(sharing(t, "user", bucket(2, time.Second, 10)), "k", 1)))
	want := http.Header{
		"Ratelimit-Policy": {`"user";q=10;w=5`}, "Ratelimit": {`"user";r=2;t=3`}, // 7 of 10 in 3.5 s, of which 2 for us
		"X-Ratelimit-Limit": {"10"}, "X-Ratelimit-Remaining": {"2"}, "X-Ratelimit-Reset": {unix(2)},
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestShareComesBack: what a share was charged is given back to it, also while the store is back.
func TestShareComesBack(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := away(c)
	p := sharing(t, "user", bucket(2, time.Hour, 30))
	look := func(l *ratelimit.Limiter) int64 { return l.Peek(t.Context(), claim(p, "k", 0)).Statuses[0].Remaining }

	_, whole := l.Reserve(t.Context(), claim(p, "k", 5))
	_, part := l.Reserve(t.Context(), claim(p, "k", 5))
	if left := look(l); left != 0 {
		t.Fatalf("%d left of a share of 10, want 0", left)
	}
	l.Default = memoryBackend(c.Now)
	whole.Release(t.Context())
	part.Settle(t.Context(), 1)
	if left := look(l); left != 30 {
		t.Errorf("%d left in the store, want 30: it was never charged", left)
	}
	l.Default = &ratelimit.Backend{Name: "redis", Store: broken{take: refused}}
	if left := look(l); left != 9 {
		t.Errorf("%d left of a share of 10, want 9", left)
	}
}

// TestShareIsNotChargedForWhatCannotPass: another policy of the request fails closed, or its store refuses.
func TestShareIsNotChargedForWhatCannotPass(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := away(c)
	p := sharing(t, "user", bucket(2, time.Hour, 30))
	there := policy(t, "there", bucket(1, time.Hour, 1), ratelimit.FailOpen)
	l.Backends = map[string]*ratelimit.Backend{"there": memoryBackend(c.Now)}
	l.Take(t.Context(), claim(there, "k", 1))

	for _, claims := range [][]ratelimit.Claim{
		{claim(p, "k", 5), claim(ratelimit.DefaultPolicies().LoginIP, "k", 1)},
		{claim(p, "k", 5), claim(there, "k", 1)},
		{claim(there, "k", 1), claim(p, "k", 5)},
	} {
		if d := l.Take(t.Context(), claims...); d.Allowed {
			t.Errorf("got %+v, want refused", d)
		}
		if left := l.Peek(t.Context(), claim(p, "k", 0)).Statuses[0].Remaining; left != 10 {
			t.Errorf("%d left of a share of 10, want 10", left)
		}
	}
}

func TestShareIsOnlyForPoliciesThatNameIt(t *testing.T) {
	t.Parallel()
	l := away(newClock())
	open := policy(t, "open", bucket(1, time.Hour, 1), ratelimit.FailOpen)
	for range 5 {
		if d := l.Take(t.Context(), claim(open, "k", 1)); !d.Allowed || !d.Statuses[0].Unknown {
			t.Errorf("got %+v, want to fail open", d)
		}
	}
}
