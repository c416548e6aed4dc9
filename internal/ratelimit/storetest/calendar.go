package storetest

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
	_ "time/tzdata" // the same zones on every machine

	"example.com/bankapi/internal/ratelimit"
)

// OnClocks opens a store that counts on the server's clock, in a process that has another.
type OnClocks func(t *testing.T, server, here func() time.Time) ratelimit.Store

// ReplayMidnight replays traffic over midnight in Berlin, into the day of 23 hours and out of it.
func ReplayMidnight(t *testing.T, open OnClocks) {
	t.Helper()
	zone := berlin(t)
	month := calendarDay(50, zone)
	month.Calendar = ratelimit.Month
	limits := []ratelimit.Limit{calendarDay(20, zone), month, calendarDay(10, nil)}
	for _, date := range []int{29, 30} {
		clock := NewClock(time.Date(2026, 3, date, 23, 50, 0, 0, zone))
		h := Harness{Store: open(t, clock.Now, clock.Now), Advance: clock.Advance, Limits: limits}
		Replay(t, h, clock.Now, 1000, rand.Uint64())
	}
}

// DayEndsByTheServersClock proves that a day ends when it does on the server, whatever the time is here.
func DayEndsByTheServersClock(t *testing.T, open OnClocks) {
	t.Helper()
	zone := berlin(t)
	end := time.Date(2026, 3, 29, 24, 0, 0, 0, zone) // of 23 hours
	for _, apart := range []time.Duration{0, 5 * time.Second, -5 * time.Second, 11 * time.Hour, -11 * time.Hour} {
		there := NewClock(end.Add(-500 * time.Millisecond))
		s := &suite{T: t, owner: apart.String()}
		s.Store = open(t, there.Now, func() time.Time { return there.Now().Add(apart) })
		c := s.claim(&ratelimit.Policy{Name: "daily", Limit: calendarDay(10, zone), OnFailure: ratelimit.FailOpen}, 10)
		c.ID = "r"
		s.admits(c)
		if wait := s.refuses(c); wait != 500*time.Millisecond {
			t.Errorf("%v apart, before the end: a wait of %v, want 500ms", apart, wait)
		}
		there.Advance(500*time.Millisecond - tick)
		if wait := s.refuses(c); wait != tick {
			t.Errorf("%v apart, at the last tick: a wait of %v, want %v", apart, wait, tick)
		}
		there.Advance(tick)
		if st := s.take(c)[0]; !st.Allowed || st.Reset != 24*time.Hour {
			t.Errorf("%v apart, at the end: %+v, want a whole day", apart, st)
		}
		s.give(c)
		s.left(apart.String()+" apart, given back", []int64{10}, c)
	}
}

// DayOnClocksADayApartIsAnError proves that clocks which cannot agree on a day are an error: a day that is over must not be a
// fresh one for each request.
func DayOnClocksADayApartIsAnError(t *testing.T, open OnClocks) {
	t.Helper()
	there := NewClock(time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC))
	store := open(t, there.Now, func() time.Time { return there.Now().Add(-36 * time.Hour) })
	p := &ratelimit.Policy{Name: "daily", Limit: calendarDay(10, nil), OnFailure: ratelimit.FailOpen}
	c := ratelimit.Claim{Policy: p, Key: ratelimit.Key{Owner: "ada"}, Cost: 1}
	if err := store.Take(context.Background(), []ratelimit.Claim{c}, make([]ratelimit.Status, 1)); err == nil {
		t.Error("got no error")
	}
}

func calendarDay(quota int64, zone *time.Location) ratelimit.Limit {
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

// Clock stands still until it is moved.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now is what it shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves it.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
