package redisstore_test

import (
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata" // the same zones on every machine

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/redisstore"
	"example.com/bankapi/internal/ratelimit/storetest"
)

func day(quota int64, zone *time.Location) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.FixedWindow, Quota: quota, Calendar: ratelimit.Day, Zone: zone}
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestAnswersAsMemoryDoesAroundMidnight(t *testing.T) {
	t.Parallel()
	url, zone := dbtest.RedisURL(t), berlin(t)
	month := day(50, zone)
	month.Calendar = ratelimit.Month
	limits := []ratelimit.Limit{day(20, zone), month, day(10, nil)}
	for _, date := range []int{29, 30} {
		clock := &clock{now: time.Date(2026, 3, date, 23, 50, 0, 0, zone)}
		h := storetest.Harness{Store: open(t, url, clock), Advance: clock.Advance, Limits: limits}
		storetest.Replay(t, h, clock.Now, 1000, rand.Uint64())
	}
}

// The server's clock says when a day ends, whatever the time here.
func TestADayEndsByTheServersClock(t *testing.T) {
	t.Parallel()
	zone := berlin(t)
	end := time.Date(2026, 3, 29, 24, 0, 0, 0, zone) // of 23 hours
	for _, apart := range []time.Duration{0, 5 * time.Second, -5 * time.Second, 11 * time.Hour, -11 * time.Hour} {
		there := &clock{now: end.Add(-500 * time.Millisecond)}
		here := func() time.Time { return there.Now().Add(apart) }
		s := open(t, dbtest.RedisURL(t), nil)
		redisstore.SetClocks(s, there.Now, here)
		c := claim(&ratelimit.Policy{Name: "daily", Limit: day(10, zone), OnFailure: ratelimit.FailOpen}, 10)
		c.Key.Owner, c.ID = apart.String(), "r"
		take(t, s, c)
		if st := take(t, s, c); st.Allowed || st.Wait != 500*time.Millisecond {
			t.Errorf("%v apart, before the end: %+v, want to wait 500ms", apart, st)
		}
		there.Advance(500*time.Millisecond - time.Microsecond)
		if st := take(t, s, c); st.Allowed || st.Wait != time.Microsecond {
			t.Errorf("%v apart, at the last microsecond: %+v, want to wait 1µs", apart, st)
		}
		there.Advance(time.Microsecond)
		if st := take(t, s, c); !st.Allowed || st.Reset != 24*time.Hour {
			t.Errorf("%v apart, at the end: %+v, want a whole day", apart, st)
		}
		if err := s.Give(t.Context(), []ratelimit.Claim{c}); err != nil {
			t.Fatal(err)
		}
		if st := peek(t, s, c); st.Remaining != 10 {
			t.Errorf("%v apart, given back: %+v, want 10 left", apart, st)
		}
	}
}

// Clocks a day apart cannot agree on one; a day that is over must not be a fresh one for each request.
func TestADayOnClocksADayApartIsAnError(t *testing.T) {
	t.Parallel()
	there := &clock{now: time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)}
	s := open(t, dbtest.RedisURL(t), nil)
	redisstore.SetClocks(s, there.Now, func() time.Time { return there.Now().Add(-36 * time.Hour) })
	c := claim(&ratelimit.Policy{Name: "daily", Limit: day(10, nil), OnFailure: ratelimit.FailOpen}, 1)
	if err := s.Take(t.Context(), []ratelimit.Claim{c}, make([]ratelimit.Status, 1)); err == nil {
		t.Error("got no error")
	}
}
