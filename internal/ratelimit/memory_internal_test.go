package ratelimit

import (
	"strconv"
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

func TestTableGivesMemoryBack(t *testing.T) {
	t.Parallel()
	var many table
	for hash := range uint64(10_000) {
		many.put(cell{hash: hash + 1, until: Instant(hash)})
	}
	if many.sweep(9_989); many.used != 10 || len(many.cells) != minCells {
		t.Errorf("%d cells with room for %d, want 10 with room for %d", many.used, len(many.cells), minCells)
	}
}

// TestMemoryClockFollowsAWallClockSetForward gives times without a monotonic reading, as after a jump.
func TestMemoryClockFollowsAWallClockSetForward(t *testing.T) {
	t.Parallel()
	m := NewMemory(MemoryOptions{})
	wall := m.start.Add(time.Hour).Round(0)
	m.now = func() time.Time { return wall }
	if m.Sweep(); m.clock() < InstantOf(wall) || m.clock() > InstantOf(wall)+60_000_000 {
		t.Errorf("the clock is at %d, want %d", m.clock(), InstantOf(wall))
	}
	ahead := m.ahead.Load()
	wall = m.start.Round(0)
	if m.Sweep(); m.ahead.Load() != ahead {
		t.Error("it followed a wall clock set back")
	}
}

// TestMemoryBoundsReservations makes far more than there is room for: each is charged, not each can be given back.
func TestMemoryBoundsReservations(t *testing.T) {
	t.Parallel()
	now := time.UnixMicro(1_790_245_230_123_456)
	m := NewMemory(MemoryOptions{Now: func() time.Time { return now }, MaxKeys: 10 * shardCount})
	p := &Policy{Name: "p", OnFailure: FailOpen, Limit: Limit{Algorithm: TokenBucket, Quota: 1000, Period: time.Second}}
	claims, out := []Claim{{Policy: p, Key: Key{Owner: "k"}, Cost: 1}}, make([]Status, 1)
	for i := range 10_000 {
		claims[0].ID = strconv.Itoa(i)
		if err := m.Take(t.Context(), claims, out); err != nil || !out[0].Allowed {
			t.Fatalf("%+v, %v", out[0], err)
		}
		held := len(m.shard(hashKey(m.seed, &claims[0])).held)
		if held > 10 {
			t.Fatalf("%d reservations held, want at most 10", held)
		}
		now = now.Add(time.Millisecond)
	}
	if err := m.Give(t.Context(), claims); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	if m.Sweep(); len(m.shard(hashKey(m.seed, &claims[0])).held) != 0 || m.Len() != 0 {
		t.Error("a minute later something is still held")
	}
}

// TestMemoryRunsOutOfNumbersForLimits changes a limit more often than a cell can tell apart. It goes on counting.
func TestMemoryRunsOutOfNumbersForLimits(t *testing.T) {
	t.Parallel()
	now := time.UnixMicro(1_790_245_230_123_456)
	m := NewMemory(MemoryOptions{Now: func() time.Time { return now }})
	out := make([]Status, 1)
	for i := range int64(mostLimits + 10) {
		p := &Policy{Name: "p", OnFailure: FailOpen, Limit: Limit{Algorithm: TokenBucket, Quota: 1, Period: time.Hour, Burst: 40_000 + i}}
		if err := m.Take(t.Context(), []Claim{{Policy: p, Key: Key{Owner: "k"}, Cost: 1}}, out); err != nil {
			t.Fatal(err)
		}
		if left := int64(39_999); !out[0].Allowed || i < mostLimits-1 && out[0].Remaining != left {
			t.Fatalf("change %d, a unit more and a unit taken: %+v, want %d left", i, out[0], left)
		}
	}
	if got := m.limits.numberOf(Limit{Quota: 1}); got != 0 {
		t.Errorf("number %d for one limit too many, want 0", got)
	}
}
