package storetest

import (
	"crypto/rand"
	"testing"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// Changes proves what a store does when a limit changes while it is counted, as at a reload: what was taken stays
// taken, at most the new capacity; nobody waits longer than the new limit needs from empty to whole; and whoever waits
// as told is admitted. It needs Advance.
func Changes(t *testing.T, open func(*testing.T) Harness) {
	t.Helper()
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			h := open(t)
			s := &suite{T: t, Harness: h, owner: rand.Text()}
			if !s.knows(c.before.Algorithm) {
				return
			}
			s.staysTaken(c)
			if c.left > 0 {
				s.owner = rand.Text()
				s.changesBack(c)
			}
		})
	}
}

// staysTaken changes a limit, asks for all of the new one and comes again when told.
func (s *suite) staysTaken(c change) {
	s.Helper()
	s.admits(s.claim(limited(c.before), c.taken))
	all := s.claim(limited(c.after), c.after.Capacity())
	st := s.peek(all)[0]
	if st.Remaining != c.left || st.Wait <= 0 || st.Wait > c.wait {
		s.Fatalf("got %+v, want %d left and a wait of at most %v", st, c.left, c.wait)
	}
	if wait := s.refuses(all); wait != st.Wait {
		s.Fatalf("Take says %v to wait, Peek said %v", wait, st.Wait)
	}
	s.Advance(st.Wait - tick)
	s.refuses(all)
	s.Advance(tick)
	s.admits(all)
}

// changesBack changes a limit and takes that back: a rounding may cost a unit, but gives none.
func (s *suite) changesBack(c change) {
	s.Helper()
	s.admits(s.claim(limited(c.before), c.taken))
	s.admits(s.claim(limited(c.after), 1))
	if st := s.peek(s.claim(limited(c.before), 0))[0]; st.Remaining > c.before.Capacity()-c.taken-1 {
		s.Fatalf("and back: %d left after %d of %d were taken", st.Remaining, c.taken+1, c.before.Capacity())
	}
}

func limited(l ratelimit.Limit) *ratelimit.Policy {
	return &ratelimit.Policy{Name: "changing", Limit: l, OnFailure: ratelimit.FailOpen}
}

type change struct {
	name          string
	before, after ratelimit.Limit
	taken         int64
	left          int64         // under the new limit
	wait          time.Duration // for all of it, at most
}

var changes = []change{
	{"raised", bucket(1, time.Second, 10), bucket(1, time.Second, 20), 7, 13, 7 * time.Second},
	{"lowered", bucket(1, time.Second, 10), bucket(1, time.Second, 5), 7, 0, 5 * time.Second},
	{"lowered, some left", bucket(1, time.Second, 10), bucket(1, time.Second, 5), 3, 2, 3 * time.Second},
	{"faster", bucket(1, time.Second, 10), bucket(10, time.Second, 10), 7, 3, 700 * time.Millisecond},
	{"slower", bucket(10, time.Second, 10), bucket(1, time.Second, 10), 7, 3, 7 * time.Second},
	{"thirds", bucket(1, time.Second, 10), bucket(3, time.Second, 10), 7, 3, 2333334 * time.Microsecond},
	{"a day to a second", bucket(1000, 24*time.Hour, 1000), bucket(3, time.Second, 3), 500, 0, time.Second},
	{"shorter window", window(10, 24*time.Hour), window(10, time.Second), 7, 3, time.Second},
	{"smaller window", window(10, time.Hour), window(5, time.Hour), 7, 0, time.Hour},
	{"larger window", window(10, time.Hour), window(20, time.Hour), 7, 13, time.Hour},
	{"a window to a day", window(10, 30*24*time.Hour), day(10), 7, 3, 24 * time.Hour},
	{"a month to a day", month(10), day(10), 7, 3, 24 * time.Hour},
	{"a day to an hour", day(10), window(10, time.Hour), 7, 3, time.Hour},
	{"a smaller day", day(10), day(5), 7, 0, 24 * time.Hour},
	{"shorter log", log(5, time.Hour), log(5, time.Minute), 4, 1, time.Minute},
	{"smaller log", log(5, time.Hour), log(3, time.Hour), 4, 0, time.Hour},
	{"shorter counter", counter(10, time.Hour), counter(10, time.Second), 7, 3, 2 * time.Second},
	{"smaller counter", counter(10, time.Hour), counter(5, time.Hour), 7, 0, 2 * time.Hour},
}

func bucket(quota int64, period time.Duration, burst int64) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.TokenBucket, Quota: quota, Period: period, Burst: burst}
}

func window(quota int64, period time.Duration) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.FixedWindow, Quota: quota, Period: period}
}

func log(quota int64, period time.Duration) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.SlidingLog, Quota: quota, Period: period}
}

func counter(quota int64, period time.Duration) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.SlidingCounter, Quota: quota, Period: period}
}

func day(quota int64) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.FixedWindow, Quota: quota, Calendar: ratelimit.Day}
}

func month(quota int64) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.FixedWindow, Quota: quota, Calendar: ratelimit.Month}
}
