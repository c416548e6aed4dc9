package ratelimit

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestTableIsAMap drives a table and a map alike. Few distinct hashes, many of them meeting in one run, wrap around
// the end and leave gaps to close.
func TestTableIsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var got table
		want := map[uint64]cell{}
		now := Instant(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			hash := rapid.Uint64Range(1, 8).Draw(t, "run")*13 + 64*rapid.Uint64Range(0, 9).Draw(t, "lap")
			switch rapid.IntRange(0, 9).Draw(t, "action") {
			default:
				c := cell{hash: hash, until: now + Instant(rapid.Int64Range(-5, 30).Draw(t, "until")), a: int64(len(want))}
				got.put(c)
				want[hash] = c
			case 0, 1:
				if i := got.find(hash); i >= 0 {
					got.remove(i)
				}
				delete(want, hash)
			case 2:
				before := got.used
				if got.evict(now) != (got.used == before-1) {
					t.Fatalf("evict did not say what it did: %d cells, then %d", before, got.used)
				}
				for h, c := range want {
					if got.find(h) < 0 && c.until <= now {
						delete(want, h)
					}
				}
			case 3:
				got.sweep(now)
				for h, c := range want {
					if c.until <= now {
						delete(want, h)
					}
				}
			}
			now++
			for h, c := range want {
				if got.get(h) != c {
					t.Fatalf("hash %d: got %+v, want %+v", h, got.get(h), c)
				}
			}
			if got.used != len(want) {
				t.Fatalf("%d cells, want %d", got.used, len(want))
			}
		}
	})
}

func TestMemoryClock(t *testing.T) {
	t.Parallel()
	start := time.Now()
	now := start
	m := NewMemory(MemoryOptions{Now: func() time.Time { return now }})
	for _, c := range []struct {
		name string
		now  time.Time
		want Instant
	}{
		{"time passes", start.Add(time.Second), InstantOf(start) + 1_000_000},
		{"the wall clock is ahead: follow it", start.Round(0).Add(time.Hour), InstantOf(start.Add(time.Hour))},
	} {
		if now = c.now; m.clock() != c.want {
			t.Errorf("%s: got %d, want %d", c.name, m.clock(), c.want)
		}
	}
}
