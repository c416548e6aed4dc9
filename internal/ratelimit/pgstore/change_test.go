package pgstore_test

import (
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit"
)

// Case 14: what was consumed is kept, clamped to the new capacity; nobody waits longer than the new limit needs.
func TestALimitMayChangeWhileItIsCounted(t *testing.T) {
	t.Parallel()
	p := dbtest.Pool(t)
	month := day(10, nil)
	month.Calendar = ratelimit.Month
	for _, test := range []struct {
		name     string
		old, new ratelimit.Limit
		taken    int64
		left     int64         // under the new limit
		wait     time.Duration // for all of it, at most
	}{
		{"raised", bucket(1, time.Second, 10), bucket(1, time.Second, 20), 7, 13, 7 * time.Second},
		{"lowered", bucket(1, time.Second, 10), bucket(1, time.Second, 5), 7, 0, 5 * time.Second},
		{"lowered, some left", bucket(1, time.Second, 10), bucket(1, time.Second, 5), 3, 2, 3 * time.Second},
		{"faster", bucket(1, time.Second, 10), bucket(10, time.Second, 10), 7, 3, 700 * time.Millisecond},
		{"slower", bucket(10, time.Second, 10), bucket(1, time.Second, 10), 7, 3, 7 * time.Second},
		{"a day to a second", bucket(1000, 24*time.Hour, 1000), bucket(3, time.Second, 3), 500, 0, time.Second},
		{"shorter window", window(10, 24*time.Hour), window(10, time.Second), 7, 3, time.Second},
		{"smaller window", window(10, time.Hour), window(5, time.Hour), 7, 0, time.Hour},
		{"a day of the calendar", window(10, 30*24*time.Hour), day(10, nil), 7, 3, 24 * time.Hour},
		{"a day of a month", month, day(10, nil), 7, 3, 24 * time.Hour},
		{"an hour of a day", day(10, nil), window(10, time.Hour), 7, 3, time.Hour},
		{"shorter log", sliding(5, time.Hour), sliding(5, time.Minute), 4, 1, time.Minute},
		{"smaller log", sliding(5, time.Hour), sliding(3, time.Hour), 4, 0, time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := store(p, &clock{now: time.UnixMicro(1_790_245_230_000_000)})
			before := &ratelimit.Policy{Name: "p", Limit: test.old, OnFailure: ratelimit.FailOpen}
			changed := &ratelimit.Policy{Name: "p", Limit: test.new, OnFailure: ratelimit.FailOpen}
			full := claim(changed, test.new.Capacity())
			full.Key.Owner = test.name
			first := claim(before, test.taken)
			first.Key.Owner = test.name
			take(t, s, first)
			if st := peek(t, s, full)[0]; st.Remaining != test.left || st.Wait <= 0 || st.Wait > test.wait {
				t.Errorf("got %+v, want %d left and a wait of at most %v", st, test.left, test.wait)
			}
		})
	}
}

func bucket(quota int64, period time.Duration, burst int64) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.TokenBucket, Quota: quota, Period: period, Burst: burst}
}

func window(quota int64, period time.Duration) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.FixedWindow, Quota: quota, Period: period}
}

func sliding(quota int64, period time.Duration) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.SlidingLog, Quota: quota, Period: period}
}
