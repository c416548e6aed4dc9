// Package storetest proves the promises of ratelimit.Store. Every store runs the same suite, so a reader who
// knows the interface knows all of them:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Harness {
//			return storetest.Harness{Store: open(t), Advance: clock.Add}
//		})
//	}
//
// The suite uses fresh keys in every test, so a shared server will do. Files: take.go what a decision says,
// several.go claims that pass or fail together, clock.go exact waits, give.go reservations, race.go many at once,
// replay.go random traffic answered as Memory answers it, change.go limits that change while they are counted,
// calendar.go days and months of a time zone, and a clock for tests.
package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/ratelimit"
)

// Harness is one store, ready to be tested.
type Harness struct {
	Store ratelimit.Store

	// Advance moves the store's clock, which otherwise stands still. Where it is nil the clock is real: the suite then
	// waits a little where it must, and leaves out what only a stopped clock can show.
	Advance func(time.Duration)

	// Second is another client of the same counts, as a second process would be. Nil: there can be no second.
	Second ratelimit.Store

	// Algorithms are the ones the store knows. Nil: all of them.
	Algorithms []ratelimit.Algorithm

	// Limits are what Replay counts by. Nil: a choice of its own.
	Limits []ratelimit.Limit
}

// Run proves the promises of the stores that open makes. It opens one for each test.
func Run(t *testing.T, open func(*testing.T) Harness) {
	t.Helper()
	for _, algorithm := range everyAlgorithm {
		t.Run(algorithm.String(), func(t *testing.T) {
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) { run(t, open, algorithm, c) })
			}
		})
	}
	t.Run("EveryAlgorithm", func(t *testing.T) {
		for _, c := range general {
			t.Run(c.name, func(t *testing.T) { c.test(&suite{T: t, Harness: open(t), owner: rand.Text()}) })
		}
	})
}

var everyAlgorithm = []ratelimit.Algorithm{
	ratelimit.TokenBucket, ratelimit.FixedWindow, ratelimit.SlidingLog, ratelimit.SlidingCounter, ratelimit.LeakyBucket,
}

// cases hold for each algorithm by itself; general ones for the store as a whole.
var (
	cases   = slices.Concat(takeCases, severalCases, clockCases, giveCases, raceCases)
	general = slices.Concat(generalCases, bucketCases)
)

// needs says what a case cannot do without.
type needs uint8

const (
	nothing      needs = iota
	stoppedClock       // Advance
)

type testCase struct {
	name  string
	needs needs
	test  func(*suite)
}

func run(t *testing.T, open func(*testing.T) Harness, algorithm ratelimit.Algorithm, c testCase) {
	h := open(t)
	s := &suite{T: t, Harness: h, algorithm: algorithm, owner: rand.Text()}
	if !s.knows(algorithm) {
		s.refusesUnknownAlgorithm()
		return
	}
	if c.needs == stoppedClock && h.Advance == nil {
		return // the pure tests show it; a real clock cannot be stopped one microsecond before an instant
	}
	c.test(s)
}

// suite is one test of one store: the harness, fresh keys and short words for what the tests do again and again.
type suite struct {
	*testing.T
	Harness
	algorithm ratelimit.Algorithm
	owner     string
}

// ages is a period in which nothing refills while a test runs.
const ages = 1000 * time.Hour

func (s *suite) knows(a ratelimit.Algorithm) bool {
	return s.Algorithms == nil || slices.Contains(s.Algorithms, a)
}

func (s *suite) refusesUnknownAlgorithm() {
	s.Helper()
	out := make([]ratelimit.Status, 1)
	if err := s.Store.Take(s.Context(), []ratelimit.Claim{s.claim(s.policy("p", 5, ages), 1)}, out); err == nil {
		s.Errorf("Take with an algorithm the store does not know: got %+v and no error", out[0])
	}
}

// policy makes one of the algorithm under test: quota units per period.
func (s *suite) policy(name string, quota int64, period time.Duration) *ratelimit.Policy {
	limit := ratelimit.Limit{Algorithm: s.algorithm, Quota: quota, Period: period}
	return &ratelimit.Policy{Name: name, Limit: limit, OnFailure: ratelimit.FailClosed}
}

// claim asks for cost units for this test's own key.
func (s *suite) claim(p *ratelimit.Policy, cost int64) ratelimit.Claim {
	return ratelimit.Claim{Policy: p, Key: ratelimit.Key{Owner: s.owner}, Cost: cost}
}

func (s *suite) take(claims ...ratelimit.Claim) []ratelimit.Status {
	s.Helper()
	return s.ask("Take", s.Store.Take, claims)
}

func (s *suite) peek(claims ...ratelimit.Claim) []ratelimit.Status {
	s.Helper()
	return s.ask("Peek", s.Store.Peek, claims)
}

func (s *suite) ask(name string, f askFunc, claims []ratelimit.Claim) []ratelimit.Status {
	s.Helper()
	out := make([]ratelimit.Status, len(claims))
	for i := range out {
		out[i] = ratelimit.Status{Allowed: true, Never: true, Remaining: math.MinInt64, Wait: -1, Reset: -1, Oldest: -1}
	}
	if err := f(s.Context(), claims, out); err != nil {
		s.Fatalf("%s(%s): %v", name, describe(claims), err)
	}
	return out
}

func (s *suite) give(claims ...ratelimit.Claim) {
	s.Helper()
	if err := s.Store.Give(s.Context(), claims); err != nil {
		s.Fatalf("Give(%s): %v", describe(claims), err)
	}
}

// drain takes all of quota in one claim.
func (s *suite) drain(p *ratelimit.Policy) {
	s.Helper()
	s.admits(s.claim(p, p.Limit.Quota))
}

func (s *suite) admits(claims ...ratelimit.Claim) {
	s.Helper()
	for i, st := range s.take(claims...) {
		if !st.Allowed || st.Never || st.Wait != 0 {
			s.Fatalf("%s: got %+v, want admitted without wait", describe(claims[i:i+1]), st)
		}
	}
}

// refuses takes one claim that must be refused and returns its wait.
func (s *suite) refuses(c ratelimit.Claim) time.Duration {
	s.Helper()
	st := s.take(c)[0]
	if st.Allowed || st.Never || st.Wait <= 0 {
		s.Fatalf("%s: got %+v, want refused with a wait", describe([]ratelimit.Claim{c}), st)
	}
	return st.Wait
}

// left compares what Peek says remains, claim by claim.
func (s *suite) left(what string, want []int64, claims ...ratelimit.Claim) {
	s.Helper()
	got := make([]int64, len(claims))
	for i, st := range s.peek(claims...) {
		got[i] = st.Remaining
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.Fatalf("%s: units left (-want +got):\n%s", what, diff)
	}
}

type askFunc = func(context.Context, []ratelimit.Claim, []ratelimit.Status) error

func describe(claims []ratelimit.Claim) string {
	text := ""
	for _, c := range claims {
		text += fmt.Sprintf(" %s %d of %d", c.Policy.Name, c.Cost, c.Policy.Limit.Quota)
	}
	return text[min(1, len(text)):]
}
