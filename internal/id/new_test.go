package id

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestNewIsAUUIDv7OfTheCurrentMillisecond(t *testing.T) {
	t.Parallel()
	before := time.Now().UnixMilli()
	got := New()
	after := time.Now().UnixMilli()
	if version, variant := got[6]>>4, got[8]>>6; version != 7 || variant != 2 {
		t.Errorf("New() = %x: version %d, variant %b; want 7 and 10", got, version, variant)
	}
	var ms int64
	for _, b := range got[:6] {
		ms = ms<<8 | int64(b)
	}
	// Other tests make IDs faster than one a quarter microsecond, which runs ahead of the clock for a moment.
	if ms < before || ms > after+1000 {
		t.Errorf("made at %d ms, want between %d and %d", ms, before, after)
	}
}

func TestStampsAscendWhateverTheClockDoes(t *testing.T) {
	t.Parallel()
	var last atomic.Uint64
	at := time.Date(2026, 9, 24, 23, 59, 30, 0, time.UTC)
	newest := uint64(0)
	for _, step := range []time.Duration{0, 0, 1, 244, 245, time.Microsecond, -time.Hour, 0, time.Hour + time.Millisecond, -1} {
		at = at.Add(step)
		got := nextStamp(&last, at)
		if got <= newest {
			t.Errorf("stamp %d after a step of %v, want more than %d", got, step, newest)
		}
		newest = got
	}
	if late := nextStamp(&last, at.Add(time.Second)); late>>12 != uint64(at.Add(time.Second).UnixMilli()) {
		t.Errorf("a later clock is not followed: %d", late>>12)
	}
}

func TestParallelNewNeverRepeats(t *testing.T) {
	t.Parallel()
	const workers, each = 8, 2000
	made := make([][each]ID, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				made[w][i] = New()
			}
		})
	}
	wg.Wait()
	seen := map[[8]byte]bool{}
	for _, ids := range made {
		for _, id := range ids {
			seen[[8]byte(id[:8])] = true
		}
	}
	if len(seen) != workers*each {
		t.Errorf("%d distinct stamps of %d", len(seen), workers*each)
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		New()
	}
}
