package ratelimit

import (
	"context"
	"crypto/rand"
	"slices"
	"sync/atomic"
)

// Reservation is units taken before the work whose outcome decides what it costs.
//
//	d, slot := limiter.Reserve(ctx, claims...)     5 of 5 guesses left -> 4
//	if !d.Allowed { ... }                          the sixth of six at once is refused here, before the hash
//	user, err := logIn(...)                        wrong password: do nothing, the guess stays counted
//	if err == nil { slot.Release(ctx) }            right password: it was no guess, 5 left
//
// Only the first Release or Settle has an effect, and the store makes sure of that too: nothing comes back twice.
// Both run to their end when the request is already over. A reservation that is never settled stays charged.
type Reservation struct {
	limiter  *Limiter
	claims   []Claim  // what was charged
	statuses []Status // and where
	settled  atomic.Bool
}

// Reserve is Take with a handle to give back what it took. The reservation is never nil: that of a refused request
// has nothing to give back.
func (l *Limiter) Reserve(ctx context.Context, claims ...Claim) (Decision, *Reservation) {
	d := l.Take(ctx, named(claims)...)
	r := &Reservation{limiter: l}
	if d.Allowed {
		r.claims, r.statuses = slices.Clone(d.Claims), slices.Clone(d.Statuses)
	}
	return d, r
}

// Release gives everything back.
func (r *Reservation) Release(ctx context.Context) { r.Settle(ctx) }

// Settle keeps the costs given, one per claim in the order they were reserved, and gives the rest back. A claim
// without one keeps nothing. A cost cannot grow: more than was reserved keeps what was reserved.
func (r *Reservation) Settle(ctx context.Context, kept ...int64) {
	if !r.settled.Swap(true) {
		r.limiter.giveBack(ctx, r.claims, r.statuses, kept)
	}
}

// Keep lets everything count for good. What was counted in this process's memory need then no longer be remembered as
// something that may be given back; other stores are not asked, theirs expires by itself.
func (r *Reservation) Keep() {
	if r.settled.Swap(true) {
		return
	}
	for i, c := range r.claims {
		if r.statuses[i].Local {
			r.limiter.Local.keep(r.limiter.scaled(c))
		} else if m, ok := r.limiter.backend(&c).Store.(*Memory); ok {
			m.keep(c)
		}
	}
}

// named returns the claims with an ID each: one for all that have none.
func named(claims []Claim) []Claim {
	claims = slices.Clone(claims)
	id := ""
	for i := range claims {
		if claims[i].ID == "" {
			if id == "" {
				id = rand.Text()
			}
			claims[i].ID = id
		}
	}
	return claims
}
