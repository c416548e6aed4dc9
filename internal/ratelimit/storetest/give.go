package storetest

import (
	"crypto/rand"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// reserve is a claim that may be given back.
func (s *suite) reserve(p *ratelimit.Policy, cost int64) ratelimit.Claim {
	c := s.claim(p, cost)
	c.ID = rand.Text()
	return c
}

// giveCases: what is given back was taken, once, and is never more than that.
var giveCases = []testCase{
	{"GiveReturnsWhatWasTaken", nothing, func(s *suite) {
		p := s.policy("p", 5, ages)
		c := s.reserve(p, 3)
		s.admits(c)
		s.admits(s.claim(p, 2))
		s.refuses(s.claim(p, 1))
		s.give(c)
		s.left("3 came back", []int64{3}, s.claim(p, 0))
		s.admits(s.claim(p, 3))
	}},
	{"GiveIsIdempotent", nothing, func(s *suite) {
		p := s.policy("p", 9, ages)
		first, second := s.reserve(p, 3), s.reserve(p, 3)
		s.admits(first)
		s.admits(second)
		for range 4 {
			s.give(first)
		}
		s.give(first, first)
		s.left("one of two came back, once", []int64{6}, s.claim(p, 0))
	}},
	{"GiveReturnsAPart", nothing, func(s *suite) {
		p := s.policy("p", 9, ages)
		c := s.reserve(p, 5)
		s.admits(c)
		c.Cost = 4
		s.give(c)
		s.give(c)
		s.left("4 of 5 came back", []int64{8}, s.claim(p, 0))
	}},
	{"GiveReturnsNoMoreThanWasTaken", nothing, func(s *suite) {
		p := s.policy("p", 9, ages)
		s.admits(s.claim(p, 4))
		c := s.reserve(p, 2)
		s.admits(c)
		c.Cost = 9
		s.give(c)
		s.left("2 came back, not 9", []int64{5}, s.claim(p, 0))
	}},
	{"GivingTheUnknownChangesNothing", nothing, func(s *suite) {
		p := s.policy("p", 9, ages)
		s.give(s.reserve(p, 3))
		if st := s.peek(s.claim(p, 0))[0]; st.Remaining != 9 || st.Reset != 0 {
			s.Fatalf("got %+v, want an untouched key", st)
		}
		s.admits(s.claim(p, 4))
		s.give(s.reserve(p, 3), s.claim(p, 3))
		s.left("neither a made-up id nor an empty one", []int64{5}, s.claim(p, 0))
	}},
	{"ARefusedClaimCannotBeGiven", nothing, func(s *suite) {
		p := s.policy("p", 5, ages)
		s.drain(p)
		c := s.reserve(p, 2)
		s.refuses(c)
		s.give(c)
		s.left("it took nothing", []int64{0}, s.claim(p, 0))
	}},
	{"OneIDNamesClaimsOfSeveralPolicies", nothing, func(s *suite) {
		a, b := s.reserve(s.policy("a", 5, ages), 1), s.reserve(s.policy("b", 9, ages), 2)
		b.ID = a.ID
		s.admits(a, b)
		s.give(a, b)
		s.left("both came back", []int64{5, 9}, s.claim(a.Policy, 0), s.claim(b.Policy, 0))
	}},
	{"AWindowTakesNothingBackFromAnEarlierOne", stoppedClock, func(s *suite) {
		if s.algorithm == ratelimit.TokenBucket || s.algorithm == ratelimit.LeakyBucket {
			return
		}
		p := s.policy("p", 5, 10*time.Second)
		c := s.reserve(p, 5)
		s.admits(c)
		s.Advance(20 * time.Second) // a sliding counter counts a unit for up to two windows
		s.drain(p)
		s.give(c)
		s.left("nothing came back", []int64{0}, s.claim(p, 0))
	}},
}
