package storetest

import (
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// tick is the resolution of every store's clock.
const tick = time.Microsecond

// clockCases: a wait is exact, and so are Reset and Oldest.
var clockCases = []testCase{
	{"TheWaitIsExact", stoppedClock, func(s *suite) {
		p := s.policy("p", 7, 10*time.Second)
		s.Advance(10*time.Second + 123457*tick)
		for _, cost := range []int64{7, 1, 3, 7, 2} {
			st := s.take(s.claim(p, cost))[0]
			if !st.Allowed {
				s.Advance(st.Wait - tick)
				s.refuses(s.claim(p, cost))
				s.Advance(tick)
				s.admits(s.claim(p, cost))
			}
			s.Advance(777777 * tick)
		}
	}},
	{"WhoeverWaitsAsToldIsAdmitted", nothing, func(s *suite) {
		p := s.policy("p", 5, 500*time.Millisecond)
		for range 3 {
			for s.take(s.claim(p, 2))[0].Allowed {
			}
			wait := s.peek(s.claim(p, 2))[0].Wait
			if wait > time.Second {
				s.Fatalf("wait %v for 5 in 500ms", wait)
			}
			s.sleep(wait)
			s.admits(s.claim(p, 2))
		}
	}},
	{"AfterResetTheKeyIsWhole", stoppedClock, func(s *suite) {
		p := s.policy("p", 7, 10*time.Second)
		s.admits(s.claim(p, 3))
		s.Advance(1234567 * tick)
		reset := s.take(s.claim(p, 2))[0].Reset
		s.Advance(reset - tick)
		if st := s.peek(s.claim(p, 0))[0]; st.Reset != tick {
			s.Fatalf("one tick before: got %+v, want Reset %v", st, tick)
		}
		s.Advance(tick)
		if st := s.peek(s.claim(p, 0))[0]; st.Reset != 0 || st.Remaining != 7 {
			s.Fatalf("at the reset: got %+v, want 7 left and nothing to reset", st)
		}
	}},
	{"OldestIsWhenTheFirstUnitLeaves", stoppedClock, func(s *suite) {
		p := s.policy("p", 7, 10*time.Second)
		s.admits(s.claim(p, 1))
		s.Advance(time.Second)
		st := s.take(s.claim(p, 1))[0]
		switch s.algorithm {
		case ratelimit.SlidingLog:
			if st.Oldest != 9*time.Second || st.Reset != 10*time.Second {
				s.Fatalf("got %+v, want the oldest to leave in 9s, the newest in 10s", st)
			}
		case ratelimit.FixedWindow:
			if st.Oldest <= 0 || st.Oldest > 10*time.Second || st.Oldest != st.Reset {
				s.Fatalf("got %+v, want both at the window's end", st)
			}
		case ratelimit.SlidingCounter:
			if st.Oldest <= 0 || st.Oldest > st.Reset || st.Reset > 20*time.Second {
				s.Fatalf("got %+v, want 0 < Oldest <= Reset <= 20s", st)
			}
		default:
			if st.Oldest != 0 {
				s.Fatalf("got %+v, want no Oldest for a bucket", st)
			}
		}
	}},
	{"IdleForAgesIsWhole", stoppedClock, func(s *suite) {
		p := s.policy("p", 7, 10*time.Second)
		s.drain(p)
		s.Advance(365 * 24 * time.Hour)
		s.drain(p)
		s.refuses(s.claim(p, 1))
	}},
}

// sleep waits on the store's clock.
func (s *suite) sleep(d time.Duration) {
	if s.Advance != nil {
		s.Advance(d)
		return
	}
	time.Sleep(d + 2*time.Millisecond)
}

// bucketCases are figures of the token bucket, whose remainders must not be lost.
var bucketCases = []testCase{
	{"TokensComeBackExactly", stoppedClock, func(s *suite) {
		if s.Advance == nil || !s.knows(ratelimit.TokenBucket) {
			return
		}
		p := s.bucket(2, time.Second, 10)
		s.admits(s.claim(p, 5))
		s.admits(s.claim(p, 5))
		if wait := s.refuses(s.claim(p, 5)); wait != 2500*time.Millisecond {
			s.Fatalf("wait %v, want 2.5s", wait)
		}
		s.Advance(2 * time.Second)
		if wait := s.refuses(s.claim(p, 5)); wait != 500*time.Millisecond {
			s.Fatalf("wait %v, want 0.5s", wait)
		}
		s.Advance(500 * time.Millisecond)
		s.admits(s.claim(p, 5))
	}},
	{"TheKeyOutlivesTheRefill", stoppedClock, func(s *suite) {
		if s.Advance == nil || !s.knows(ratelimit.TokenBucket) {
			return
		}
		p := s.bucket(10, 19*time.Second, 1)
		s.admits(s.claim(p, 1))
		s.Advance(1150 * time.Millisecond)
		s.refuses(s.claim(p, 1))
		s.Advance(749999 * tick)
		s.refuses(s.claim(p, 1))
		s.Advance(tick)
		s.admits(s.claim(p, 1))
	}},
	{"AnEmptiedBucketGivesBackOnlyWhatFlowedIn", nothing, func(s *suite) {
		if !s.knows(ratelimit.TokenBucket) {
			return
		}
		p := s.bucket(1, time.Second, 100)
		s.admits(s.claim(p, 100))
		s.sleep(2200 * time.Millisecond)
		passed := 0
		for range 100 {
			if s.take(s.claim(p, 1))[0].Allowed {
				passed++
			}
		}
		if passed != 2 {
			s.Fatalf("%d of 100 admitted after 2.2s at 1/s, want 2", passed)
		}
	}},
	{"RemaindersOfATickAreKept", stoppedClock, func(s *suite) {
		if s.Advance == nil || !s.knows(ratelimit.TokenBucket) {
			return
		}
		p := s.bucket(3, time.Second, 1) // a token each 333,333 1/3 µs
		passed := 0
		for range 300 {
			for st := s.take(s.claim(p, 1))[0]; !st.Allowed; st = s.take(s.claim(p, 1))[0] {
				s.Advance(st.Wait)
			}
			passed++
		}
		if wait := s.refuses(s.claim(p, 1)); wait != 333334*tick {
			s.Fatalf("after %d tokens: wait %v, want 333.334ms", passed, wait)
		}
	}},
}

func (s *suite) bucket(quota int64, period time.Duration, burst int64) *ratelimit.Policy {
	limit := ratelimit.Limit{Algorithm: ratelimit.TokenBucket, Quota: quota, Period: period, Burst: burst}
	return &ratelimit.Policy{Name: "bucket", Limit: limit, OnFailure: ratelimit.FailOpen}
}
