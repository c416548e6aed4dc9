package ratelimit_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/ratelimit"
)

func bucket(quota int64, period time.Duration, burst int64) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.TokenBucket, Quota: quota, Period: period, Burst: burst}
}

// millis is an instant some time after an epoch that is no round number.
func millis(ms int64) ratelimit.Instant { return 1_790_245_230_000_017 + ratelimit.Instant(ms*1000) }

func ExampleBucket() {
	user := ratelimit.Limit{Algorithm: ratelimit.TokenBucket, Quota: 2, Period: time.Second, Burst: 10}.Bucket()
	var state ratelimit.BucketState // full
	var st ratelimit.Status
	for _, ms := range []int64{0, 0, 0, 2000, 2500} {
		state, st = user.Take(state, millis(ms), 5)
		fmt.Println(st.Allowed, st.Remaining, st.Wait)
	}
	// Output:
	// true 5 0s
	// true 0 0s
	// false 0 2.5s
	// false 4 500ms
	// true 0 0s
}

func ExampleMeter() {
	meter := ratelimit.Limit{Algorithm: ratelimit.LeakyBucket, Quota: 2, Period: time.Second, Burst: 10}.Meter()
	var state ratelimit.BucketState // empty
	for _, ms := range []int64{0, 0, 0, 2000} {
		var st ratelimit.Status
		state, st = meter.Take(state, millis(ms), 4)
		fmt.Println(st.Allowed, meter.Level(state, millis(ms)))
	}
	// Output:
	// true 4
	// true 8
	// false 8
	// true 8
}

// TestBucketTimeline is the lesson's second figure: a bucket of 5 at 1 a second.
func TestBucketTimeline(t *testing.T) {
	t.Parallel()
	b := bucket(1, time.Second, 5).Bucket()
	var state ratelimit.BucketState
	var got []string
	for _, ms := range []int64{0, 0, 0, 0, 0, 0, 0, 500, 1000, 3000, 3000, 3000, 3000} {
		var st ratelimit.Status
		state, st = b.Take(state, millis(ms), 1)
		if st.Allowed {
			got = append(got, fmt.Sprintf("left %d", st.Remaining))
		} else {
			got = append(got, fmt.Sprintf("refused %d", st.Wait.Milliseconds()))
		}
	}
	want := []string{
		"left 4", "left 3", "left 2", "left 1", "left 0", "refused 1000", "refused 1000",
		"refused 500", "left 0", "left 1", "left 0", "refused 1000", "refused 1000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBucketWaitsAreExact drains a bucket and looks at single moments afterwards.
func TestBucketWaitsAreExact(t *testing.T) {
	t.Parallel()
	type moment struct {
		at      time.Duration
		cost    int64
		allowed bool
		wait    time.Duration
	}
	for _, c := range []struct {
		name    string
		limit   ratelimit.Limit
		moments []moment
	}{
		{"five in 300 s", bucket(5, 300*time.Second, 5), []moment{
			{59 * time.Second, 1, false, time.Second},
			{59200 * time.Millisecond, 1, false, 800 * time.Millisecond},
			{60*time.Second - time.Microsecond, 1, false, time.Microsecond},
			{60 * time.Second, 1, true, 0},
			{60 * time.Second, 1, false, 60 * time.Second},
		}},
		{"ten in 19 s, one at a time", bucket(10, 19*time.Second, 1), []moment{
			{1150 * time.Millisecond, 1, false, 750 * time.Millisecond},
			{1899999 * time.Microsecond, 1, false, time.Microsecond},
			{1900 * time.Millisecond, 1, true, 0},
		}},
		{"three a second: thirds of a microsecond add up", bucket(3, time.Second, 3), []moment{
			{333333 * time.Microsecond, 1, false, time.Microsecond},
			{333334 * time.Microsecond, 1, true, 0},
			{666666 * time.Microsecond, 1, false, time.Microsecond},
			{666667 * time.Microsecond, 1, true, 0},
			{999999 * time.Microsecond, 1, false, time.Microsecond},
			{1000000 * time.Microsecond, 1, true, 0},
			{1000000 * time.Microsecond, 3, false, time.Second},
		}},
		{"two thousand a microsecond", bucket(2_000_000_000, time.Second, 0), []moment{
			{time.Microsecond, 2001, false, time.Microsecond},
			{time.Microsecond, 2000, true, 0},
			{time.Microsecond, 1, false, time.Microsecond},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := c.limit.Bucket()
			state, st := b.Take(ratelimit.BucketState{}, millis(0), b.Capacity)
			if !st.Allowed || st.Remaining != 0 {
				t.Fatalf("draining: %+v", st)
			}
			for _, m := range c.moments {
				now := millis(0) + ratelimit.Instant(m.at.Microseconds())
				state, st = b.Take(state, now, m.cost)
				if st.Allowed != m.allowed || st.Wait != m.wait {
					t.Errorf("cost %d at %v: got %+v, want allowed %v, wait %v", m.cost, m.at, st, m.allowed, m.wait)
				}
			}
		})
	}
}

func TestBucketRefillsNoMoreThanTimeAllows(t *testing.T) {
	t.Parallel()
	b := bucket(1, time.Second, 100).Bucket()
	state, _ := b.Take(ratelimit.BucketState{}, millis(0), 100)
	admitted := 0
	for range 100 {
		var st ratelimit.Status
		if state, st = b.Take(state, millis(2200), 1); st.Allowed {
			admitted++
		}
	}
	if admitted != 2 {
		t.Errorf("%d of 100 after 2.2 s at 1/s, want 2", admitted)
	}
}

func TestBucketStatesThatMustNotChange(t *testing.T) {
	t.Parallel()
	b := bucket(2, time.Second, 10).Bucket()
	used, _ := b.Take(ratelimit.BucketState{}, millis(0), 4)
	for _, c := range []struct {
		name string
		cost int64
		want ratelimit.Status
	}{
		{"cost 0", 0, ratelimit.Status{Allowed: true, Remaining: 6, Reset: 2 * time.Second}},
		{"more than is there", 7, ratelimit.Status{Remaining: 6, Wait: 500 * time.Millisecond, Reset: 2 * time.Second}},
		{"more than capacity", 11, ratelimit.Status{Never: true, Remaining: 6, Reset: 2 * time.Second}},
		{"all the numbers there are", math.MaxInt64, ratelimit.Status{Never: true, Remaining: 6, Reset: 2 * time.Second}},
		{"below zero", -1, ratelimit.Status{Never: true, Remaining: 6, Reset: 2 * time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			state, st := b.Take(used, millis(0), c.cost)
			if state != used {
				t.Errorf("state moved from %+v to %+v", used, state)
			}
			if diff := cmp.Diff(c.want, st); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBucketLateTimestampsMintNothing(t *testing.T) {
	t.Parallel()
	b := bucket(100, time.Second, 500).Bucket()
	state, _ := b.Take(ratelimit.BucketState{}, millis(60_000), 500)
	for _, late := range []int64{0, 59_999, 30_000, -3_000_000} {
		next, st := b.Take(state, millis(late), 1)
		if st.Allowed || next != state || st.Remaining != 0 {
			t.Errorf("at %d ms, after 60,000: got %+v, want refused and the state as it was", late, st)
		}
	}
	if _, st := b.Take(state, millis(60_000), 1); st.Wait != 10*time.Millisecond {
		t.Errorf("afterwards: wait %v, want 10ms", st.Wait)
	}

	// A thousand million ticks a microsecond: a year of them is more than there are numbers.
	fast := bucket(999_999_999_000_000, time.Second, 0).Bucket()
	full, _ := fast.Take(ratelimit.BucketState{}, millis(0), fast.Capacity)
	if st := fast.Peek(full, millis(-365*86_400_000), 1); st.Allowed || st.Remaining != 0 {
		t.Errorf("a year late: got %+v, want refused", st)
	}
}

func TestBucketGivesBackUpToFull(t *testing.T) {
	t.Parallel()
	b := bucket(3, time.Second, 10).Bucket()
	used, _ := b.Take(ratelimit.BucketState{}, millis(0), 8)
	for _, c := range []struct {
		tokens, left int64
	}{{0, 2}, {1, 3}, {7, 9}, {8, 10}, {9, 10}, {math.MaxInt64, 10}} {
		state := b.Give(used, millis(0), c.tokens)
		if st := b.Peek(state, millis(0), 0); st.Remaining != c.left {
			t.Errorf("2 left and %d given: %d left, want %d", c.tokens, st.Remaining, c.left)
		}
	}
	if state := b.Give(used, millis(0), 8); state != (ratelimit.BucketState{}) {
		t.Errorf("a bucket made full keeps %+v, want the zero state", state)
	}
}
