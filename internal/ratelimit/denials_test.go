package ratelimit_test

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/ratelimit"
)

// remote is a memory store that passes for one over a network and counts how often it is asked.
type remote struct {
	*ratelimit.Memory
	asked atomic.Int64
	pause chan struct{} // if set, an answer waits for it
}

func (r *remote) Take(ctx context.Context, claims []ratelimit.Claim, out []ratelimit.Status) error {
	r.asked.Add(1)
	err := r.Memory.Take(ctx, claims, out)
	if r.pause != nil {
		<-r.pause
	}
	return err
}

func denying(c *clock, o ratelimit.DenialsOptions) (*ratelimit.Limiter, *remote) {
	r := &remote{Memory: ratelimit.NewMemory(ratelimit.MemoryOptions{Now: c.Now})}
	return &ratelimit.Limiter{
		Default: &ratelimit.Backend{Name: "redis", Store: r, Budget: time.Minute},
		Denials: ratelimit.NewDenials(o),
		Now:     c.Now,
	}, r
}

// TestDenials is the bucket of the lesson at level 2: what is known to be refused is refused without asking.
func TestDenials(t *testing.T) {
	t.Parallel()
	c := newClock()
	l, r := denying(c, ratelimit.DenialsOptions{})
	w := &watcher{}
	l.Observer = w
	user := policy(t, "user", bucket(2, time.Second, 10), ratelimit.FailOpen)
	l.Take(t.Context(), claim(user, "k", 8))
	for _, step := range []struct {
		after      time.Duration
		cost       int64
		allowed    bool
		remembered bool
		wait       time.Duration
	}{
		{0, 5, false, false, 1500 * time.Millisecond},
		{0, 5, false, true, 1500 * time.Millisecond},
		{500 * time.Millisecond, 5, false, true, time.Second},
		{0, 6, false, true, 1500 * time.Millisecond},
		{0, 10, false, true, 3500 * time.Millisecond},
		{0, 1, true, false, 0}, // of 3
		{0, 5, false, true, time.Second},
		{0, 0, true, false, 0},
		{0, 2, true, false, 0},
		{0, 1, false, false, 500 * time.Millisecond},
		{0, 1, false, true, 500 * time.Millisecond},
		{0, 5, false, true, 2500 * time.Millisecond},
		{500*time.Millisecond - time.Microsecond, 1, false, true, time.Microsecond},
		{time.Microsecond, 1, true, false, 0},
	} {
		c.Advance(step.after)
		before := r.asked.Load()
		d := l.Take(t.Context(), claim(user, "k", step.cost))
		if d.Allowed != step.allowed || d.Remembered != step.remembered || d.RetryAfter != step.wait {
			t.Fatalf("%+v: got allowed %v, remembered %v, wait %v", step, d.Allowed, d.Remembered, d.RetryAfter)
		}
		if asked := r.asked.Load() != before; asked == step.remembered {
			t.Fatalf("%+v: the store was asked: %v", step, asked)
		}
	}
	if n := len(slices.DeleteFunc(w.told, func(s string) bool { return s != "user refused" })); n != 10 {
		t.Errorf("told of %d refusals, want 10, those from memory too", n)
	}
}

// TestDenialsAreDropped by whatever gives the key something back, and by a limit that is another one.
func TestDenialsAreDropped(t *testing.T) {
	t.Parallel()
	user := policy(t, "user", bucket(2, time.Hour, 10), ratelimit.FailOpen)
	for name, drop := range map[string]func(*ratelimit.Limiter, *ratelimit.Reservation) ratelimit.Claim{
		"a reset": func(l *ratelimit.Limiter, _ *ratelimit.Reservation) ratelimit.Claim {
			if err := l.Reset(t.Context(), claim(user, "k", 0)); err != nil {
				t.Error(err)
			}
			return claim(user, "k", 5)
		},
		"a refund": func(_ *ratelimit.Limiter, r *ratelimit.Reservation) ratelimit.Claim {
			r.Release(t.Context())
			return claim(user, "k", 5)
		},
		"a raised limit": func(*ratelimit.Limiter, *ratelimit.Reservation) ratelimit.Claim {
			return claim(policy(t, "user", bucket(2, time.Hour, 20), ratelimit.FailOpen), "k", 5)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _ := denying(newClock(), ratelimit.DenialsOptions{})
			_, slot := l.Reserve(t.Context(), claim(user, "k", 8))
			for range 2 {
				if l.Take(t.Context(), claim(user, "k", 5)).Allowed {
					t.Fatal("8 and 5 of 10 were admitted")
				}
			}
			if d := l.Take(t.Context(), drop(l, slot)); !d.Allowed {
				t.Errorf("got %+v, want admitted", d)
			}
		})
	}
	t.Run("the same limit again", func(t *testing.T) {
		t.Parallel()
		l, r := denying(newClock(), ratelimit.DenialsOptions{})
		l.Take(t.Context(), claim(user, "k", 8))
		l.Take(t.Context(), claim(user, "k", 5))
		again := policy(t, "user", bucket(2, time.Hour, 10), ratelimit.FailOpen)
		if d := l.Take(t.Context(), claim(again, "k", 5)); !d.Remembered || r.asked.Load() != 2 {
			t.Errorf("got %+v, want it remembered across a reload that changed nothing", d)
		}
	})
}

// TestDenialsOvertakenByARefund: the store refuses, a refund passes, and only then does the refusal arrive.
func TestDenialsOvertakenByARefund(t *testing.T) {
	t.Parallel()
	l, r := denying(newClock(), ratelimit.DenialsOptions{})
	user := policy(t, "user", bucket(2, time.Hour, 10), ratelimit.FailOpen)
	_, slot := l.Reserve(t.Context(), claim(user, "k", 10))
	r.pause = make(chan struct{})
	var late sync.WaitGroup
	late.Go(func() { l.Take(t.Context(), claim(user, "k", 5)) })
	for r.asked.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	slot.Release(t.Context())
	close(r.pause)
	late.Wait()
	if d := l.Take(t.Context(), claim(user, "k", 5)); !d.Allowed {
		t.Errorf("got %+v, want admitted", d)
	}
}

// TestDenialsOfAReservation are believed for a second: another process may give back what this one was refused.
func TestDenialsOfAReservation(t *testing.T) {
	t.Parallel()
	c := newClock()
	l, r := denying(c, ratelimit.DenialsOptions{Trust: 10 * time.Second})
	guess := claim(ratelimit.DefaultPolicies().LoginAccount, "ada@example.com", 1)
	for range 5 {
		l.Reserve(t.Context(), guess)
	}
	asked := func(take func()) bool {
		before := r.asked.Load()
		take()
		return r.asked.Load() > before
	}
	reserve := func() { l.Reserve(t.Context(), guess) }
	take := func() { l.Take(t.Context(), guess) }
	for i, step := range []struct {
		after time.Duration
		try   func()
		asked bool
	}{
		{0, reserve, true}, {0, reserve, false}, {time.Second - 1, reserve, false}, {1, reserve, true},
		{time.Second, take, true}, {time.Second, take, false}, {8 * time.Second, take, false}, {time.Second, take, true},
	} {
		if c.Advance(step.after); asked(step.try) != step.asked {
			t.Errorf("step %d: the store was asked: %v, want %v", i, !step.asked, step.asked)
		}
	}
}

// TestDenialsRefuseTheWholeRequest: of the others nothing is known, and nothing is said but that they exist.
func TestDenialsRefuseTheWholeRequest(t *testing.T) {
	t.Parallel()
	c := newClock()
	l, r := denying(c, ratelimit.DenialsOptions{})
	hour := policy(t, "hour", bucket(1000, time.Hour, 1000), ratelimit.FailOpen)
	guard := policy(t, "guard", bucket(1000, time.Hour, 1000), ratelimit.FailClosed)
	minute := policy(t, "minute", bucket(5, time.Minute, 5), ratelimit.FailOpen)
	here := policy(t, "here", bucket(5, time.Minute, 5), ratelimit.FailOpen)
	l.Backends = map[string]*ratelimit.Backend{"here": memoryBackend(c.Now)}
	all := []ratelimit.Claim{claim(hour, "k", 1), claim(guard, "k", 1), claim(minute, "k", 5), claim(here, "k", 1)}
	l.Take(t.Context(), all...)
	first, second := http.Header{}, http.Header{}
	ratelimit.WriteHeaders(first, l.Take(t.Context(), all...))
	before := r.asked.Load()
	d := l.Take(t.Context(), all...)
	ratelimit.WriteHeaders(second, d)
	if d.Allowed || d.Unavailable || !d.Remembered || r.asked.Load() != before || !slices.Equal(d.Violated, []string{"minute"}) {
		t.Errorf("got %+v, want refused by minute alone without asking", d)
	}
	delete(first, "Ratelimit-Policy") // in another order: it knows what is left of each
	want := `"minute";q=5;w=60, "hour";q=1000;w=3600, "guard";q=1000;w=3600, "here";q=5;w=60`
	if got := second.Get("RateLimit-Policy"); got != want {
		t.Errorf("policies %s, want %s", got, want)
	}
	delete(second, "Ratelimit-Policy")
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("headers (-asked +remembered):\n%s", diff)
	}
	if left := l.Peek(t.Context(), claim(here, "k", 0)).Statuses[0].Remaining; left != 4 {
		t.Errorf("%d left here, want 4", left)
	}
}

func TestDenialsOfWindowsAndLogs(t *testing.T) {
	t.Parallel()
	for a, larger := range map[ratelimit.Algorithm]bool{
		ratelimit.FixedWindow: true, ratelimit.SlidingLog: false, ratelimit.SlidingCounter: false, ratelimit.LeakyBucket: true,
	} {
		l, _ := denying(newClock(), ratelimit.DenialsOptions{})
		p := policy(t, "p", limit(a, 10, time.Hour), ratelimit.FailOpen)
		l.Take(t.Context(), claim(p, "k", 8))
		l.Take(t.Context(), claim(p, "k", 5))
		if d := l.Take(t.Context(), claim(p, "k", 5)); !d.Remembered || d.Allowed {
			t.Errorf("%v: the same again: %+v, want it remembered", a, d)
		}
		want := l.Peek(t.Context(), claim(p, "k", 7)).RetryAfter
		if d := l.Take(t.Context(), claim(p, "k", 7)); d.Remembered != larger || d.Allowed || d.RetryAfter != want {
			t.Errorf("%v: more: %+v, want it remembered: %v, and to wait %v", a, d, larger, want)
		}
		if d := l.Take(t.Context(), claim(p, "k", 11)); d.Remembered || !d.Never() || d.RetryAfter != 0 {
			t.Errorf("%v: too much: %+v, want never", a, d)
		}
		if d := l.Take(t.Context(), claim(p, "k", 1), claim(p, "k", 4)); !d.Remembered {
			t.Errorf("%v: the same in two: %+v, want it remembered", a, d)
		}
		if d := l.Take(t.Context(), claim(p, "k", 2)); !d.Allowed {
			t.Errorf("%v: less: %+v, want admitted", a, d)
		}
	}
}

func TestDenialsAreBounded(t *testing.T) {
	t.Parallel()
	c := newClock()
	l, r := denying(c, ratelimit.DenialsOptions{MaxKeys: 160})
	p := policy(t, "p", bucket(1, time.Minute, 1), ratelimit.FailOpen)
	refuse := func() int64 { // a thousand callers in turn, until as many are remembered as can be
		asked := int64(0)
		for range 3 {
			asked = r.asked.Load()
			for i := range 1000 {
				l.Take(t.Context(), claim(p, strconv.Itoa(i), 1))
			}
		}
		return r.asked.Load() - asked
	}
	if asked := refuse(); asked < 1000-160 || asked > 1000-100 {
		t.Errorf("asked for %d of 1000, want those for which there was no room", asked)
	}
	c.Advance(time.Minute)
	if asked := refuse(); asked > 1000-100 {
		t.Errorf("a minute later: asked for %d of 1000, want room made", asked)
	}
}

func TestDenialsAreNotForMemory(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := &ratelimit.Limiter{Default: memoryBackend(c.Now), Denials: ratelimit.NewDenials(ratelimit.DenialsOptions{}), Now: c.Now}
	p := policy(t, "p", bucket(1, time.Minute, 1), ratelimit.FailOpen)
	for range 5 {
		if d := l.Take(t.Context(), claim(p, "k", 1)); d.Remembered {
			t.Errorf("got %+v, want memory asked", d)
		}
	}
}
