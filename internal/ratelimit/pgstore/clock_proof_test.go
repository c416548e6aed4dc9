package pgstore_test

import (
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/pgstore"
	"example.com/bankapi/internal/ratelimit/storetest"
)

// CASES limiter 6: two instances whose clocks differ by 5 s either way, 10 a second and 10 at once, for 10 s. The
// database's clock counts, so together they admit what one would: 10, and 10 in each of the ten seconds.
func TestInstancesFiveSecondsApartAdmitNoMoreThanOne(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	there := storetest.NewClock(time.UnixMicro(1_790_245_230_123_456))
	var instances []*pgstore.Store
	for _, apart := range []time.Duration{-5 * time.Second, 5 * time.Second} {
		s := store(pool(t, url), nil)
		pgstore.SetClocks(s, there.Now, func() time.Time { return there.Now().Add(apart) })
		instances = append(instances, s)
	}
	p := policy("p", ratelimit.TokenBucket, 10, time.Second)
	admitted := 0
	for n := range 400 { // each 25 ms, from 0 to 9.975 s, one of them
		if take(t, instances[n%2], claim(p, 1))[0].Allowed {
			admitted++
		}
		there.Advance(25 * time.Millisecond)
	}
	if want := 10 + 99; admitted != want { // the hundredth flows in at 10.000 s
		t.Errorf("%d admitted in 10 s, want %d", admitted, want)
	}
}

// Nobody tells the functions the time in production: the argument is NULL, and now() of PostgreSQL counts.
func TestTheProcessesClockIsNotAsked(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	p := policy("p", ratelimit.TokenBucket, 10, time.Second)
	wrong := []time.Duration{-5 * time.Second, 5 * time.Second}
	begun, admitted := time.Now(), int64(0)
	var instances []*pgstore.Store
	for _, apart := range wrong {
		s := store(pool(t, url), nil)
		pgstore.SetClocks(s, nil, func() time.Time { return time.Now().Add(apart) })
		instances = append(instances, s)
	}
	for n := 0; time.Since(begun) < time.Second; n++ {
		if take(t, instances[n%2], claim(p, 1))[0].Allowed {
			admitted++
		}
	}
	if most := 10 + int64(10*time.Since(begun).Seconds()) + 1; admitted < 10 || admitted > most {
		t.Errorf("%d admitted in a second, want 10 to %d", admitted, most)
	}
}
