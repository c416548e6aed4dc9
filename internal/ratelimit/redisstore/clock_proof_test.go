package redisstore_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit"
)

// CASES limiter 6: two instances whose clocks differ by 5 s either way, 10 a second and 10 at once, for 10 s. The
// server's clock counts, so together they admit what one would: 10, and 10 in each of the ten seconds.
func TestInstancesFiveSecondsApartAdmitNoMoreThanOne(t *testing.T) {
	t.Parallel()
	url := dbtest.RedisURL(t)
	there := &clock{now: time.UnixMicro(1_790_245_230_123_456)}
	store := open(t, url, there)
	second := open(t, url, there)
	instance := func(s ratelimit.Store, apart time.Duration) *ratelimit.Limiter {
		return &ratelimit.Limiter{
			Default: &ratelimit.Backend{Name: "redis", Store: s, Budget: time.Minute},
			Now:     func() time.Time { return there.Now().Add(apart) },
		}
	}
	instances := []*ratelimit.Limiter{instance(store, -5*time.Second), instance(second, 5*time.Second), instance(store, 5*time.Second)}
	c := claim(&ratelimit.Policy{Name: "p", Limit: bucket(10, time.Second, 10), OnFailure: ratelimit.FailClosed}, 1)
	admitted := 0
	for n := range 400 { // each 25 ms, from 0 to 9.975 s, one of them
		if instances[n%len(instances)].Take(t.Context(), c).Allowed {
			admitted++
		}
		there.Advance(25 * time.Millisecond)
	}
	if want := 10 + 99; admitted != want { // the hundredth flows in at 10.000 s
		t.Errorf("%d admitted in 10 s, want %d", admitted, want)
	}
}

// In a bubble it is the year 2000 and the clock stands still. A store there shares a bucket with one out here, so no
// process's clock is asked.
func TestTheProcessesClockIsNotAsked(t *testing.T) {
	t.Parallel()
	url := dbtest.RedisURL(t)
	c := claim(&ratelimit.Policy{Name: "p", Limit: bucket(10, time.Second, 10), OnFailure: ratelimit.FailClosed}, 1)
	outside := open(t, url, nil)
	var admitted atomic.Int64
	var over atomic.Bool
	hammer := func(s ratelimit.Store) {
		for !over.Load() {
			if take(t, s, c).Allowed {
				admitted.Add(1)
			}
		}
	}
	begun := time.Now()
	took := make(chan time.Duration)
	go func() {
		time.AfterFunc(time.Second, func() { over.Store(true) })
		hammer(outside)
		took <- time.Since(begun)
	}()
	synctest.Test(t, func(t *testing.T) {
		if year := time.Now().Year(); year != 2000 {
			t.Fatalf("the bubble is in the year %d", year)
		}
		hammer(open(t, url, nil))
	})
	most := 10 + int64(10*(<-took).Seconds()) + 1
	if n := admitted.Load(); n < 19 || n > most {
		t.Errorf("%d admitted in a second, want 19 to %d", n, most)
	}
}
