package ratelimit_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/storetest"
)

type clock = storetest.Clock

func newClock() *clock {
	return storetest.NewClock(time.Date(2026, 9, 24, 10, 20, 30, 123456789, time.UTC))
}

func TestMemoryKeepsThePromisesOfStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness {
		c := newClock()
		return storetest.Harness{Store: ratelimit.NewMemory(ratelimit.MemoryOptions{Now: c.Now}), Advance: c.Advance}
	})
}

func TestMemoryKeepsThemOnARealClock(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness {
		return storetest.Harness{Store: ratelimit.NewMemory(ratelimit.MemoryOptions{})}
	})
}

func TestMemoryWhenALimitChanges(t *testing.T) {
	t.Parallel()
	storetest.Changes(t, func(*testing.T) storetest.Harness {
		c := newClock()
		return storetest.Harness{Store: ratelimit.NewMemory(ratelimit.MemoryOptions{Now: c.Now}), Advance: c.Advance}
	})
}

func TestMemorySweepsWhatIsWhole(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := ratelimit.NewMemory(ratelimit.MemoryOptions{Now: c.Now})
	p := policy(t, "ip", bucket(1, time.Second, 10), ratelimit.FailOpen)
	for i := range 1000 {
		mustTake(t, m, claim(p, fmt.Sprintf("address-%d", i), 1))
	}
	c.Advance(5 * time.Second)
	mustTake(t, m, claim(p, "greedy", 10))
	for _, at := range []struct {
		after time.Duration
		keys  int
	}{{0, 1}, {4 * time.Second, 1}, {6 * time.Second, 0}} {
		c.Advance(at.after)
		if m.Sweep(); m.Len() != at.keys {
			t.Errorf("%v later: %d keys, want %d", at.after, m.Len(), at.keys)
		}
	}
}

// TestMemoryRemembersWhomItRefusesUnderAFlood sends a million new keys past one that is refused for an hour.
func TestMemoryRemembersWhomItRefusesUnderAFlood(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := ratelimit.NewMemory(ratelimit.MemoryOptions{Now: c.Now, MaxKeys: 10_000})
	hour := policy(t, "hour", bucket(1, time.Hour, 1), ratelimit.FailOpen)
	log := policy(t, "log", limit(ratelimit.SlidingLog, 1, time.Hour), ratelimit.FailOpen)
	flood := []*ratelimit.Policy{
		policy(t, "flood-bucket", bucket(2, time.Second, 10), ratelimit.FailOpen),
		policy(t, "flood-log", limit(ratelimit.SlidingLog, 2, time.Second), ratelimit.FailOpen),
	}
	mustTake(t, m, claim(hour, "K", 1))
	mustTake(t, m, claim(log, "K", 1))

	const newcomers = 1_000_000
	out := make([]ratelimit.Status, 1)
	for i := range newcomers {
		c.Advance(time.Hour / newcomers)
		if err := m.Take(t.Context(), []ratelimit.Claim{claim(flood[i%2], strconv.Itoa(i), 1)}, out); err != nil {
			t.Fatal(err)
		}
		if !out[0].Allowed { // room is made by dropping those that are whole again
			t.Fatalf("newcomer %d shares a count with others: %+v", i, out[0])
		}
		if i%50_000 == 0 && i < newcomers-1 && (take(t, m, claim(hour, "K", 1)).Allowed || take(t, m, claim(log, "K", 1)).Allowed) {
			t.Fatalf("K was forgotten after %d newcomers", i)
		}
	}
	if m.Len() > 10_000+64*3 {
		t.Errorf("%d keys held, want at most 10,000 and the overflows", m.Len())
	}
}

// TestMemoryAtItsCapSharesOneCount fills a store whose keys never become whole.
func TestMemoryAtItsCapSharesOneCount(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := ratelimit.NewMemory(ratelimit.MemoryOptions{Now: c.Now, MaxKeys: 640})
	for _, l := range []ratelimit.Limit{
		bucket(10, time.Hour, 10), limit(ratelimit.SlidingLog, 10, time.Hour), limit(ratelimit.FixedWindow, 10, 24*time.Hour),
	} {
		p := policy(t, l.Algorithm.String(), l, ratelimit.FailOpen)
		admitted := 0
		for i := range 20_000 {
			if take(t, m, claim(p, strconv.Itoa(i), 1)).Allowed {
				admitted++
			}
		}
		if most := 640 + 64 + 64*10; admitted > most {
			t.Errorf("%v: %d of 20,000 strangers admitted, want at most %d", l.Algorithm, admitted, most)
		}
		if m.Len() > 640+64*4 {
			t.Errorf("%v: %d keys held, want at most 640 and the overflows", l.Algorithm, m.Len())
		}
	}
	c.Advance(48 * time.Hour)
	if m.Sweep(); m.Len() != 0 {
		t.Errorf("two days later: %d keys, want 0", m.Len())
	}
}

func TestMemoryTakesNothingBackThatNoLongerCounts(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := ratelimit.NewMemory(ratelimit.MemoryOptions{Now: c.Now})
	p := ratelimit.DefaultPolicies().User
	reserved := claim(p, "k", 5)
	reserved.ID = "r"
	mustTake(t, m, reserved)
	c.Advance(5 * time.Second) // as long as an empty bucket fills
	mustTake(t, m, claim(p, "k", 10))
	if err := m.Give(t.Context(), []ratelimit.Claim{reserved}); err != nil {
		t.Fatal(err)
	}
	if st := take(t, m, claim(p, "k", 0)); st.Remaining != 0 {
		t.Errorf("%d left, want 0", st.Remaining)
	}
}

func take(t *testing.T, s ratelimit.Store, c ratelimit.Claim) ratelimit.Status {
	t.Helper()
	out := make([]ratelimit.Status, 1)
	if err := s.Take(t.Context(), []ratelimit.Claim{c}, out); err != nil {
		t.Fatal(err)
	}
	return out[0]
}

func mustTake(t *testing.T, s ratelimit.Store, c ratelimit.Claim) {
	t.Helper()
	if st := take(t, s, c); !st.Allowed {
		t.Fatalf("%s %+v: %+v, want allowed", c.Policy.Name, c.Key, st)
	}
}

func claim(p *ratelimit.Policy, owner string, cost int64) ratelimit.Claim {
	return ratelimit.Claim{Policy: p, Key: ratelimit.Key{Owner: owner}, Cost: cost}
}

func policy(t *testing.T, name string, l ratelimit.Limit, mode ratelimit.FailMode) *ratelimit.Policy {
	t.Helper()
	p, err := ratelimit.NewPolicy(ratelimit.Policy{Name: name, Limit: l, OnFailure: mode})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
