package redisstore_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/storetest"
)

// CASES limiter 6: two instances whose clocks differ by 5 s either way, 10 a second and 10 at once, for 10 s. The
// server's clock counts, so together they admit what one would: 10, and 10 in each of the ten seconds.
func TestInstancesFiveSecondsApartAdmitNoMoreThanOne(t *testing.T) {
	t.Parallel()
	url := dbtest.RedisURL(t)
	there := storetest.NewClock(time.UnixMicro(1_790_245_230_123_456))
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

// TestTheProcessesClockIsNotAsked counts with a process in which it is the year 2000 and the clock stands still: a bubble of
// synctest. It finds in a bucket what flowed in by the server's clock, and no more. (The bubble is in a process of its own
// because the client's pools may not be used inside and outside of one.)
func TestTheProcessesClockIsNotAsked(t *testing.T) {
	t.Parallel()
	c := claim(&ratelimit.Policy{Name: "p", Limit: bucket(10, time.Second, 10), OnFailure: ratelimit.FailClosed}, 1)
	if url := os.Getenv(childURL); url != "" {
		var over atomic.Bool
		time.AfterFunc(time.Second, func() { over.Store(true) })
		synctest.Test(t, func(t *testing.T) {
			s, admitted := open(t, url, nil), 0
			for !over.Load() {
				if take(t, s, c).Allowed {
					admitted++
				}
			}
			fmt.Printf("admitted %d in %d\n", admitted, time.Now().Year())
		})
		return
	}
	url := dbtest.RedisURL(t)
	store := open(t, url, nil)
	begun := time.Now()
	all := c
	all.Cost = 10
	take(t, store, all) // in the year 2000 this bucket stays empty for long
	var there, year int
	if _, err := fmt.Sscanf(processes(t, url, 1)[0], "admitted %d in %d", &there, &year); err != nil || year != 2000 {
		t.Fatalf("the process in the bubble: year %d, %v", year, err)
	}
	here := 0
	for take(t, store, c).Allowed {
		here++
	}
	if most := int(10 * time.Since(begun).Seconds()); there < 3 || here+there > most {
		t.Errorf("%d and %d admitted of what flowed in, want at least 3 there and at most %d together", here, there, most)
	}
}
