package httpapi

import (
	"net/http"
	"slices"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/transfers"
)

// hold is limit for a route whose price is known only when its work is done: the units are reserved, and the handler
// finds them in the exchange. Left alone, they stay charged.
func (a *api) hold(claims ...claim) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			held, err := a.reserve(w, r, gather(r, claims)...)
			if err != nil {
				a.fail(w, r, err)
				return
			}
			held.keep()
			exchangeOf(r).held = &held
			next.ServeHTTP(w, r)
		})
	}
}

// reserveOrder counts a transfer under the account it leaves and under all transfers. The account stands in the body, so
// this stage comes after decoding. The account's key has its caller in it: nobody can use up a stranger's.
//
// A request that is refused here is charged nothing by its user's policies either.
func (a *api) reserveOrder(w http.ResponseWriter, r *http.Request, order transfers.Order) (slot, error) {
	decision, reservation := a.Limiter.Reserve(r.Context(), a.orderClaims(r, order)...)
	if decision.Allowed {
		return slot{w: w, r: r, decision: decision, reservation: reservation}, nil
	}
	held := exchangeOf(r).held
	if !a.onlyGlobal(decision) {
		held.giveBack()
		ratelimit.WriteHeaders(w.Header(), decision)
		return slot{}, refusal(r, decision)
	}
	a.settle(*held)
	decision.Unavailable = true // so that only Retry-After is written: the limit is not the caller's
	ratelimit.WriteHeaders(w.Header(), decision)
	exchangeOf(r).refusedBy = decision.Violated
	return slot{}, &Problem{Type: reducedCapacity, Violated: decision.Violated,
		Detail: "The bank is settling as many transfers as it can. Nothing was done and nothing was charged."}
}

func (a *api) orderClaims(r *http.Request, order transfers.Order) []ratelimit.Claim {
	x, l := exchangeOf(r), a.limits()
	claims := make([]ratelimit.Claim, 0, 2)
	if l.TransfersAccount != nil {
		key := ratelimit.Key{Owner: x.user, Part: order.From.String()}
		claims = append(claims, ratelimit.Claim{Policy: l.TransfersAccount, Key: key, Cost: 1, Exempt: l.ExemptsPrincipal(x.user)})
	}
	if l.GlobalTransfers != nil {
		claims = append(claims, ratelimit.Claim{Policy: l.GlobalTransfers, Key: globalKey, Cost: 1})
	}
	return claims
}

// globalKey is that of what everybody does together.
var globalKey = ratelimit.Key{Owner: "all"}

// onlyGlobal reports whether nothing but global-transfers is in the way.
func (a *api) onlyGlobal(d ratelimit.Decision) bool {
	global := a.limits().GlobalTransfers
	return !d.Unavailable && global != nil && slices.Equal(d.Violated, []string{global.Name})
}

// settleOrder makes an order cost what it was. One that the ledger decided, with the accounts locked, counts in full,
// whether money moved or was refused to. A replay read a row: it costs its user what a GET does and its account nothing.
func (a *api) settleOrder(r *http.Request, order slot, receipt transfers.Receipt) {
	if !receipt.Replayed {
		order.keep()
		order.reservation.Keep()
		exchangeOf(r).held.reservation.Keep()
		return
	}
	order.giveBack()
	held, read := exchangeOf(r).held, a.limits().Costs(http.MethodGet, transferPattern+"/{id}")
	kept := make([]int64, len(held.decision.Claims))
	for i, c := range held.decision.Claims {
		kept[i] = read.User
		if daily := a.limits().Daily; daily != nil && c.Policy.Name == daily.Name {
			kept[i] = read.Daily
		}
	}
	a.settle(*held, kept...)
}

// settle gives back all but what is kept, claim by claim, and tells the caller what is left now.
func (a *api) settle(s slot, kept ...int64) {
	s.reservation.Settle(s.r.Context(), kept...)
	claims := slices.Clone(s.decision.Claims)
	for i := range claims {
		claims[i].Cost = 0
	}
	ratelimit.WriteHeaders(s.w.Header(), a.Limiter.Peek(s.r.Context(), claims...))
}
