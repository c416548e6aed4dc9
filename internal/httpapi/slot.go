package httpapi

import (
	"net/http"

	"example.com/bankapi/internal/ratelimit"
)

// slot is what a request has reserved before work whose outcome decides whether it counts. It is kept or given back.
type slot struct {
	w           http.ResponseWriter
	r           *http.Request
	decision    ratelimit.Decision
	reservation *ratelimit.Reservation
}

// reserve takes the claims in one atomic step per store, or returns the refusal.
func (a *api) reserve(w http.ResponseWriter, r *http.Request, claims ...ratelimit.Claim) (slot, error) {
	decision, reservation := a.Limiter.Reserve(r.Context(), claims...)
	s := slot{w: w, r: r, decision: decision, reservation: reservation}
	if !decision.Allowed {
		s.keep()
		return s, refusal(r, decision)
	}
	return s, nil
}

// keep lets the units count, and tells the caller so.
func (s slot) keep() {
	ratelimit.WriteHeaders(s.w.Header(), s.decision)
}

// giveBack undoes the reservation: the caller's limits are as if it had never been.
func (s slot) giveBack() {
	s.reservation.Release(s.r.Context())
}
