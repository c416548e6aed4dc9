package storetest

import (
	"math"

	"example.com/bankapi/internal/ratelimit"
)

// severalCases: the claims of one call pass or fail together.
var severalCases = []testCase{
	{"AllOrNothing", nothing, func(s *suite) {
		a, b := s.policy("a", 10, ages), s.policy("b", 1, ages)
		passed := 0
		for range 10 {
			st := s.take(s.claim(a, 1), s.claim(b, 1))
			if st[0].Allowed && st[1].Allowed {
				passed++
			}
		}
		if passed != 1 {
			s.Fatalf("%d of 10 passed, want 1", passed)
		}
		s.left("a pays only for what passed", []int64{9, 0}, s.claim(a, 0), s.claim(b, 0))
	}},
	{"ARefusalLeavesTheOthersUncharged", nothing, func(s *suite) {
		a, b, c := s.policy("a", 10, ages), s.policy("b", 5, ages), s.policy("c", 3, ages)
		claims := []ratelimit.Claim{s.claim(a, 4), s.claim(b, 1), s.claim(c, 2)}
		s.admits(claims...)
		got := s.take(claims...)
		if !got[0].Allowed || !got[1].Allowed || got[2].Allowed || got[2].Wait <= 0 {
			s.Fatalf("got %+v, want c alone to refuse", got)
		}
		for i, want := range []int64{6, 4, 1} {
			if got[i].Remaining != want {
				s.Errorf("%s: %d left, want %d", claims[i].Policy.Name, got[i].Remaining, want)
			}
		}
		s.left("and in the store", []int64{6, 4, 1}, claims...)
	}},
	{"ANeverLeavesTheOthersUncharged", nothing, func(s *suite) {
		a, b := s.policy("a", 10, ages), s.policy("b", 1, ages)
		if st := s.take(s.claim(a, 1), s.claim(b, 2)); !st[0].Allowed || !st[1].Never {
			s.Fatalf("got %+v, want b never", st)
		}
		s.left("nothing charged", []int64{10, 1}, s.claim(a, 0), s.claim(b, 0))
	}},
	{"TheSameKeyTwiceIsASum", nothing, func(s *suite) {
		p := s.policy("p", 10, ages)
		for i, st := range s.take(s.claim(p, 6), s.claim(p, 5)) {
			if st.Allowed || !st.Never {
				s.Fatalf("6+5 of 10, claim %d: got %+v, want never", i, st)
			}
		}
		for i, st := range s.take(s.claim(p, 4), s.claim(p, 3)) {
			if !st.Allowed || st.Remaining != 3 {
				s.Fatalf("4+3 of 10, claim %d: got %+v, want allowed with 3 left", i, st)
			}
		}
		for i, st := range s.take(s.claim(p, 2), s.claim(p, 2)) {
			if st.Allowed || st.Never || st.Wait <= 0 || st.Remaining != 3 {
				s.Fatalf("2+2 of 3, claim %d: got %+v, want refused with 3 left", i, st)
			}
		}
		s.left("only 4+3 were charged", []int64{3}, s.claim(p, 0))
	}},
	{"ASumDoesNotOverflow", nothing, func(s *suite) {
		p := s.policy("p", 10, ages)
		for i, st := range s.take(s.claim(p, math.MaxInt64), s.claim(p, math.MaxInt64), s.claim(p, 2)) {
			if st.Allowed || !st.Never {
				s.Fatalf("claim %d: got %+v, want never", i, st)
			}
		}
	}},
	{"ManyClaimsInOneCall", nothing, func(s *suite) {
		claims := make([]ratelimit.Claim, 40)
		for i := range claims {
			claims[i] = s.claim(s.policy("p", 2, ages), 1)
			claims[i].Key.Part = string(rune('A' + i))
		}
		s.admits(claims...)
		s.admits(claims...)
		for i, st := range s.take(claims...) {
			if st.Allowed {
				s.Errorf("claim %d: the third of two is admitted", i)
			}
		}
	}},
}
