package storetest

import (
	"sync"
	"sync/atomic"

	"example.com/bankapi/internal/ratelimit"
)

// raceCases: many at once get exactly what one after the other would.
var raceCases = []testCase{
	{"ColdStampede", nothing, func(s *suite) {
		p := s.policy("p", 20, ages)
		if got := s.stampede(200, s.claim(p, 1)); got != 20 {
			s.Fatalf("%d of 200 admitted at once, want exactly 20", got)
		}
	}},
	{"WarmStampede", nothing, func(s *suite) {
		p := s.policy("p", 20, ages)
		s.admits(s.claim(p, 1))
		if got := s.stampede(200, s.claim(p, 1)); got != 19 {
			s.Fatalf("%d of 200 admitted at once, want exactly 19", got)
		}
	}},
	{"AStampedeOverSeveralPoliciesChargesOnlyWhatPassed", nothing, func(s *suite) {
		a, b, c := s.claim(s.policy("a", 50, ages), 1), s.claim(s.policy("b", 20, ages), 1), s.claim(s.policy("c", 90, ages), 2)
		if got := s.stampede(100, a, b, c); got != 20 {
			s.Fatalf("%d of 100 admitted at once, want exactly 20", got)
		}
		s.left("each paid for 20", []int64{30, 0, 50}, a, b, c)
	}},
	{"ManyGiveTheSameReservation", nothing, func(s *suite) {
		p := s.policy("p", 20, ages)
		s.admits(s.claim(p, 10))
		c := s.reserve(p, 2)
		s.admits(c)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if err := s.Store.Give(s.Context(), []ratelimit.Claim{c}); err != nil {
					s.Errorf("Give: %v", err)
				}
			})
		}
		all.Wait()
		s.left("it came back once", []int64{10}, s.claim(p, 0))
	}},
}

// stampede takes the claims n times at once, over both clients of the store, and counts the admitted. Half of them
// name the claims in the opposite order, which deadlocks a store that locks in the order of asking.
func (s *suite) stampede(n int, claims ...ratelimit.Claim) int {
	s.Helper()
	stores := []ratelimit.Store{s.Store}
	if s.Second != nil {
		stores = append(stores, s.Second)
	}
	turned := make([]ratelimit.Claim, len(claims))
	for i, c := range claims {
		turned[len(claims)-1-i] = c
	}
	orders := [][]ratelimit.Claim{claims, turned}

	var admitted atomic.Int64
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			out := make([]ratelimit.Status, len(claims))
			if err := stores[i%len(stores)].Take(s.Context(), orders[i/2%2], out); err != nil {
				s.Errorf("Take: %v", err)
				return
			}
			if allAllowed(out) {
				admitted.Add(1)
			}
		})
	}
	close(start)
	all.Wait()
	return int(admitted.Load())
}

func allAllowed(out []ratelimit.Status) bool {
	for _, st := range out {
		if !st.Allowed {
			return false
		}
	}
	return true
}
