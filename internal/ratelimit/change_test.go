package ratelimit_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/bankapi/internal/ratelimit"
)

// TestBucketAdoptsWhatWasTaken: whatever the limits, a change gives no token back, makes nobody wait longer than the new
// bucket needs to fill, and leaves a state that the arithmetic can read.
func TestBucketAdoptsWhatWasTaken(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) ratelimit.Limit {
			return ratelimit.Limit{
				Algorithm: ratelimit.TokenBucket,
				Quota:     rapid.Int64Range(1, 1000).Draw(t, name+" quota"),
				Period:    time.Duration(rapid.Int64Range(1, 3_600_000_000).Draw(t, name+" period")) * time.Microsecond,
				Burst:     rapid.Int64Range(1, 1000).Draw(t, name+" burst"),
			}
		}
		before, after := draw("old").Bucket(), draw("new").Bucket()
		now := ratelimit.Instant(1_790_245_230_123_456)
		s, _ := before.Take(ratelimit.BucketState{}, now, rapid.Int64Range(0, before.Capacity).Draw(t, "taken"))
		now += ratelimit.Instant(rapid.Int64Range(-1_000_000, 5_000_000_000).Draw(t, "later"))
		taken := before.Capacity - before.Peek(s, now, 0).Remaining // a token begun counts as taken

		s = after.Adopt(s, before, now)
		st := after.Peek(s, now, after.Capacity)
		if want := max(after.Capacity-taken, 0); st.Remaining != want && (before != after || st.Remaining < want) {
			t.Fatalf("%d of %d left after %d were taken of %d", st.Remaining, after.Capacity, taken, before.Capacity)
		}
		if fill := (after.Capacity*after.Unit + after.Micro - 1) / after.Micro; st.Wait.Microseconds() > fill || st.Reset.Microseconds() > fill {
			t.Fatalf("%v to wait, %v to reset, want at most %dµs", st.Wait, st.Reset, fill)
		}
		if s.Early < 0 || s.Early >= after.Micro || s.Full != 0 && s.Full <= now {
			t.Fatalf("state %+v at %d is none", s, now)
		}
		if s.Full > 0 {
			if st := after.Peek(s, now+ratelimit.Instant(st.Wait.Microseconds()), after.Capacity); !st.Allowed {
				t.Fatalf("refused after waiting as told: %+v", st)
			}
		}
	})
}
