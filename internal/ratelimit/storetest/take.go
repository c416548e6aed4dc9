package storetest

import (
	"math"
	"testing"

	"example.com/bankapi/internal/ratelimit"
)

var takeCases = []testCase{
	{"CountsDownToZeroThenRefuses", nothing, func(s *suite) {
		p := s.policy("p", 10, ages)
		for want := int64(9); want >= 0; want-- {
			st := s.take(s.claim(p, 1))[0]
			if !st.Allowed || st.Remaining != want || st.Wait != 0 || st.Reset <= 0 {
				s.Fatalf("got %+v, want allowed with %d left and a reset ahead", st, want)
			}
		}
		st := s.take(s.claim(p, 1))[0]
		if st.Allowed || st.Never || st.Remaining != 0 || st.Wait <= 0 || st.Wait > 2*ages {
			s.Fatalf("the eleventh of ten: got %+v, want refused with a wait", st)
		}
	}},
	{"AnUntouchedKeyIsWhole", nothing, func(s *suite) {
		st := s.peek(s.claim(s.policy("p", 10, ages), 1))[0]
		if !st.Allowed || st.Remaining != 10 || st.Reset != 0 || st.Wait != 0 {
			s.Fatalf("got %+v, want 10 left and nothing to reset", st)
		}
	}},
	{"WeighsCosts", nothing, func(s *suite) {
		p := s.policy("p", 10, ages)
		s.admits(s.claim(p, 5))
		s.left("after 5", []int64{5}, s.claim(p, 0))
		s.refuses(s.claim(p, 6))
		s.admits(s.claim(p, 5))
		s.left("after 5 and 5", []int64{0}, s.claim(p, 0))
	}},
	{"MoreThanCapacityIsNever", nothing, func(s *suite) {
		p := s.policy("p", 10, ages)
		s.admits(s.claim(p, 3))
		for _, cost := range []int64{11, 1 << 40, math.MaxInt64} {
			st := s.take(s.claim(p, cost))[0]
			if st.Allowed || !st.Never || st.Wait != 0 || st.Remaining != 7 {
				s.Fatalf("cost %d of 10: got %+v, want never, and 7 left", cost, st)
			}
		}
		s.left("after three refusals", []int64{7}, s.claim(p, 0))
	}},
	{"CostZeroIsFree", nothing, func(s *suite) {
		p := s.policy("p", 2, ages)
		if st := s.take(s.claim(p, 0))[0]; !st.Allowed || st.Remaining != 2 || st.Reset != 0 {
			s.Fatalf("untouched: got %+v, want allowed and still untouched", st)
		}
		s.drain(p)
		if st := s.take(s.claim(p, 0))[0]; !st.Allowed || st.Remaining != 0 {
			s.Fatalf("drained: got %+v, want allowed with 0 left", st)
		}
	}},
	{"NegativeCostIsAnError", nothing, func(s *suite) {
		good, bad := s.claim(s.policy("good", 5, ages), 1), s.claim(s.policy("bad", 5, ages), -1)
		for _, ask := range []askFunc{s.Store.Take, s.Store.Peek} {
			if err := ask(s.Context(), []ratelimit.Claim{good, bad}, make([]ratelimit.Status, 2)); err == nil {
				s.Fatal("cost -1: got no error")
			}
		}
		s.left("after the error", []int64{5, 5}, good, s.claim(bad.Policy, 0))
	}},
	{"ARefusalWritesNothing", nothing, func(s *suite) {
		p := s.policy("p", 5, ages)
		s.drain(p)
		first := s.refuses(s.claim(p, 1))
		for range 50 {
			if wait := s.refuses(s.claim(p, 1)); wait > first || s.Advance != nil && wait != first {
				s.Fatalf("hammering moved the wait from %v to %v", first, wait)
			}
		}
	}},
	{"PeekChargesNothing", nothing, func(s *suite) {
		p := s.policy("p", 3, ages)
		s.admits(s.claim(p, 1))
		for range 10 {
			if st := s.peek(s.claim(p, 2))[0]; !st.Allowed || st.Remaining != 2 {
				s.Fatalf("got %+v, want allowed with 2 left", st)
			}
		}
		if st := s.peek(s.claim(p, 3))[0]; st.Allowed || st.Never || st.Wait <= 0 || st.Remaining != 2 {
			s.Fatalf("cost 3 of 2 left: got %+v, want refused with a wait and 2 left", st)
		}
	}},
	{"ResetForgets", nothing, func(s *suite) {
		p := s.policy("p", 3, ages)
		other := s.claim(p, 3)
		other.Key.Owner += "-other"
		s.drain(p)
		s.admits(other)
		if err := s.Store.Reset(s.Context(), []ratelimit.Claim{s.claim(p, 1)}); err != nil {
			s.Fatal(err)
		}
		s.left("one reset, the other not", []int64{3, 0}, s.claim(p, 0), other)
		s.drain(p)
	}},
	{"KeysAndPoliciesAreApart", nothing, func(s *suite) {
		p, q := s.policy("p", 1, ages), s.policy("q", 1, ages)
		for _, k := range []ratelimit.Key{
			{Owner: "a"}, {Owner: "b"}, {Owner: "a", Part: "b"}, {Owner: "ab"}, {Owner: "b", Part: "a"},
			{Owner: "a:b", Part: "c"}, {Owner: "a", Part: "b:c"}, {Owner: "a{b}"}, {Owner: "{a}b"}, {Owner: "a", Part: "{b}"},
			{Owner: "\u00e9"}, {Owner: "e\u0301"}, {Owner: "a b"}, {Owner: "a\x00b"}, {Owner: "a", Part: "\x00"},
		} {
			for _, policy := range []*ratelimit.Policy{p, q} {
				c := s.claim(policy, 1)
				c.Key = ratelimit.Key{Owner: s.owner + k.Owner, Part: k.Part}
				if st := s.take(c)[0]; !st.Allowed {
					s.Errorf("policy %s, key %+q: shares a count with another key", policy.Name, k)
				}
				if st := s.take(c)[0]; st.Allowed {
					s.Errorf("policy %s, key %+q: the second of one is admitted", policy.Name, k)
				}
			}
		}
	}},
	{"LongKeysAreWhole", nothing, func(s *suite) {
		p, long := s.policy("p", 1, ages), string(make([]byte, 5000))
		for _, tail := range []string{"x", "y"} {
			c := s.claim(p, 1)
			c.Key = ratelimit.Key{Owner: s.owner + "a" + long + tail, Part: long + tail}
			s.admits(c)
		}
	}},
}

// generalCases do not depend on how a policy counts.
var generalCases = []testCase{
	{"NoClaimsIsNoError", nothing, func(s *suite) {
		s.take()
		s.peek()
		s.give()
	}},
	{"AnInvalidPolicyIsAnError", nothing, func(s *suite) {
		for name, limit := range map[string]ratelimit.Limit{
			"zero":         {},
			"no algorithm": {Quota: 1, Period: ages},
			"no period":    {Algorithm: ratelimit.TokenBucket, Quota: 1},
			"no quota":     {Algorithm: ratelimit.TokenBucket, Period: ages},
		} {
			s.Run(name, func(t *testing.T) {
				p := &ratelimit.Policy{Name: "p", Limit: limit, OnFailure: ratelimit.FailClosed}
				out := make([]ratelimit.Status, 1)
				if err := s.Store.Take(t.Context(), []ratelimit.Claim{s.claim(p, 1)}, out); err == nil {
					t.Errorf("got %+v and no error", out[0])
				}
			})
		}
	}},
}
