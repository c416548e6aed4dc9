package ratelimit_test

import (
	"testing"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// gate is a breaker that says what it is told to.
type gate struct{ state string }

func (g *gate) Ask() (func(error), bool) { return func(error) {}, g.state != "open" }
func (g *gate) State() string            { return g.state }

func TestInspect(t *testing.T) {
	t.Parallel()
	c := newClock()
	l, r := denying(c, ratelimit.DenialsOptions{})
	w := &watcher{}
	l.Observer, l.Default.Breaker = w, &gate{state: "closed"}
	l.Local, l.Instances = ratelimit.NewMemory(ratelimit.MemoryOptions{Now: c.Now}), 2
	user := sharing(t, "user", bucket(2, time.Second, 10))
	spared := claim(user, "monitor", 1)
	spared.Exempt = true
	strict := trial(t, "strict", bucket(1, time.Hour, 2))
	l.Take(t.Context(), claim(user, "k", 8), claim(strict, "k", 2))
	l.Take(t.Context(), claim(user, "k", 5))
	w.told = nil
	asked := r.asked.Load()

	look := func() []ratelimit.Inspection {
		return l.Inspect(t.Context(), claim(user, "k", 5), claim(user, "k", 1), claim(strict, "k", 1), spared)
	}
	got := look()
	if i := got[0]; i.Status.Allowed || i.Status.Remaining != 2 || i.Denied != 1500*time.Millisecond || i.Store != "redis" || i.Breaker != "closed" {
		t.Errorf("refused: %+v", i)
	}
	if i := got[1]; !i.Status.Allowed || i.Status.Remaining != 2 || i.Denied != 0 || i.Err != nil {
		t.Errorf("admitted: %+v", i)
	}
	if i := got[2]; !i.Status.Allowed || !i.Status.WouldRefuse() {
		t.Errorf("on trial: %+v", i)
	}
	if i := got[3]; !i.Status.Exempt || i.Store != "" {
		t.Errorf("exempt: %+v", i)
	}
	l.Default.Breaker = &gate{state: "open"}
	if i := look()[1]; i.Err == nil || !i.Status.Allowed || !i.Status.Local || i.Status.Remaining != 5 || i.Breaker != "open" {
		t.Errorf("without the store: %+v, want the share of it", i)
	}
	if len(w.told) != 0 || w.failures != 0 || r.asked.Load() != asked {
		t.Errorf("the observer was told %q, the store charged %d times; want a look to leave no trace", w.told, r.asked.Load()-asked)
	}
}
