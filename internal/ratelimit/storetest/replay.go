package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/ratelimit"
)

// Replay sends the same random traffic to a store and to ratelimit.Memory and ends the test at the first answer that
// differs. h.Advance moves the clock that now reads, which both stores follow; it is also moved back at times.
// Algorithms the store does not know are left out.
func Replay(t *testing.T, h Harness, now func() time.Time, steps int, seed uint64) {
	t.Helper()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	r := &replay{
		suite: suite{T: t, Harness: h, owner: fmt.Sprintf("%x", random.Uint64())},
		Rand:  random,
		model: ratelimit.NewMemory(ratelimit.MemoryOptions{Now: now}),
	}
	limits := h.Limits
	if limits == nil {
		limits = replayLimits
	}
	for _, limit := range limits {
		if h.Algorithms == nil || slices.Contains(h.Algorithms, limit.Algorithm) {
			name := fmt.Sprintf("p%d", len(r.policies))
			r.policies = append(r.policies, &ratelimit.Policy{Name: name, Limit: limit, OnFailure: ratelimit.FailOpen})
		}
	}
	for r.at = range steps {
		r.step()
	}
}

// replayLimits are small ones, ones with awkward remainders, and ones whose products need more than 64 bits.
var replayLimits = []ratelimit.Limit{
	{Algorithm: ratelimit.TokenBucket, Quota: 10, Period: 10 * time.Second},
	{Algorithm: ratelimit.TokenBucket, Quota: 3, Period: time.Second, Burst: 7},
	{Algorithm: ratelimit.TokenBucket, Quota: 10, Period: 19 * time.Second, Burst: 1},
	{Algorithm: ratelimit.TokenBucket, Quota: 2_000_000_007, Period: time.Second, Burst: 100},
	{Algorithm: ratelimit.LeakyBucket, Quota: 7, Period: 11 * time.Second, Burst: 20},
	{Algorithm: ratelimit.FixedWindow, Quota: 8, Period: 7 * time.Second},
	{Algorithm: ratelimit.SlidingLog, Quota: 9, Period: 5 * time.Second},
	{Algorithm: ratelimit.SlidingLog, Quota: 1000, Period: time.Minute},
	{Algorithm: ratelimit.SlidingCounter, Quota: 10, Period: 6 * time.Second},
	{Algorithm: ratelimit.SlidingCounter, Quota: 999_999_999_999_999, Period: 20 * time.Second},
}

type replay struct {
	suite
	*rand.Rand
	policies []*ratelimit.Policy
	model    *ratelimit.Memory
	given    []ratelimit.Claim // reservations that may be given back
	resets   int
	at       int
}

func (r *replay) step() {
	r.Helper()
	switch p := r.IntN(100); {
	case p < 55:
		r.same("Take", r.Store.Take, r.model.Take, r.someClaims())
	case p < 65:
		r.same("Peek", r.Store.Peek, r.model.Peek, r.someClaims())
	case p < 75:
		r.giveSome()
	case p < 76:
		r.reset(r.someClaims())
	case p < 80:
		r.Advance(-time.Duration(r.Int64N(300_000)) * tick)
	default:
		// From a microsecond to minutes, each length as likely as another.
		r.Advance(time.Duration(1+r.Int64N(1<<r.IntN(27))) * tick)
	}
}

func (r *replay) someClaims() []ratelimit.Claim {
	claims := make([]ratelimit.Claim, 1+r.IntN(3))
	for i := range claims {
		p := r.policies[r.IntN(len(r.policies))]
		claims[i] = ratelimit.Claim{
			Policy: p,
			Key:    ratelimit.Key{Owner: r.owner, Part: string(rune('a' + r.IntN(2)))},
			Cost:   r.Int64N(min(4, p.Limit.Capacity()) + 1),
		}
		if p.Limit.Quota > 100 && r.IntN(2) == 0 {
			claims[i].Cost = r.Int64N(p.Limit.Capacity())
		}
		if r.IntN(3) == 0 {
			claims[i].ID = fmt.Sprint(r.resets, r.at/40) // some are used twice
		}
	}
	return claims
}

func (r *replay) same(name string, store, model askFunc, claims []ratelimit.Claim) {
	r.Helper()
	got := r.ask(name, store, claims)
	want := r.ask("Memory."+name, model, claims)
	if diff := cmp.Diff(want, got); diff != "" {
		r.Fatalf("step %d: %s(%s): (-memory +store)\n%s", r.at, name, describe(claims), diff)
	}
	for _, c := range claims {
		if name == "Take" && c.ID != "" {
			r.given = append(r.given, c)
		}
	}
}

// giveSome gives back a reservation, whole or in part, and now and then a second time.
func (r *replay) giveSome() {
	r.Helper()
	if len(r.given) == 0 {
		return
	}
	i := max(r.IntN(len(r.given)), len(r.given)-1-r.IntN(8))
	c := r.given[i]
	c.Cost -= r.Int64N(c.Cost/3 + 1)
	r.give(c)
	if err := r.model.Give(r.Context(), []ratelimit.Claim{c}); err != nil {
		r.Fatal(err)
	}
	if r.IntN(3) > 0 {
		r.given = slices.Delete(r.given, i, i+1)
	}
}

// reset forgets counts. What stores do with older reservations of a count that was reset is not promised, so their
// names are not used again.
func (r *replay) reset(claims []ratelimit.Claim) {
	r.Helper()
	r.resets++
	for _, store := range []ratelimit.Store{r.Store, r.model} {
		if err := store.Reset(r.Context(), claims); err != nil {
			r.Fatal(err)
		}
	}
	for _, c := range claims {
		r.given = slices.DeleteFunc(r.given, func(g ratelimit.Claim) bool { return g.Policy == c.Policy && g.Key == c.Key })
	}
}
