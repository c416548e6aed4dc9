package httpapi

import (
	"context"
	"errors"
	"net/http"

	"example.com/bankapi/internal/auth"
)

// authenticate lets through who has a valid token. Everybody else is charged to the anonymous policy of their address and
// gets a 401, or a 429 once that is used up.
//
// A token that this process has not seen lately could be one of a million guesses, so its caller is charged before the
// look-up and gets the unit back if the token is good: a flood of made-up tokens ends before the database. Units that
// are still to be given back count for nobody's refusal at once: see lobby.
func (a *api) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		principal, err := a.identify(w, r)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		x := exchangeOf(r)
		x.principal, x.user = principal, principal.User.String()
		next.ServeHTTP(w, r)
	})
}

func (a *api) identify(w http.ResponseWriter, r *http.Request) (auth.Principal, error) {
	token, err := auth.BearerToken(r.Header)
	if err == nil && a.Auth.Known(token) {
		var principal auth.Principal
		principal, err = a.Auth.Authenticate(r.Context(), token)
		if !errors.Is(err, auth.ErrInvalidToken) {
			return principal, err
		} // else it was good until lately
	}
	if err == nil {
		return a.lookUp(w, r, token)
	}
	slot, refused := a.reserve(w, r, gather(r, []claim{a.anonymousClaim})...)
	if refused != nil {
		return auth.Principal{}, refused
	}
	slot.keep()
	return auth.Principal{}, err
}

// lookUp verifies a token that is not known, once for all requests of an address that have it at the same time. If it is
// good they share the unit; if not each of them pays its own.
func (a *api) lookUp(w http.ResponseWriter, r *http.Request, token string) (auth.Principal, error) {
	first := false
	found, err, _ := a.lookUps.Do(exchangeOf(r).client+" "+token, func() (any, error) {
		first = true
		return a.payLookUp(w, r, token)
	})
	if err != nil && !first {
		return a.payLookUp(w, r, token)
	}
	principal, _ := found.(auth.Principal)
	return principal, err
}

func (a *api) payLookUp(w http.ResponseWriter, r *http.Request, token string) (auth.Principal, error) {
	guest := a.lobby.enter(exchangeOf(r).client)
	defer guest.leave()
	slot, refused := a.reserveWaiting(w, r, guest)
	if refused != nil {
		return auth.Principal{}, refused
	}
	principal, err := a.Auth.Authenticate(r.Context(), token)
	if errors.Is(err, auth.ErrInvalidToken) {
		slot.keep()
	} else {
		slot.giveBack()
		guest.gaveBack = true
	}
	return principal, err
}

// reserveWaiting is reserve of a unit of anonymous, for a guest who waits while others may give one back.
func (a *api) reserveWaiting(w http.ResponseWriter, r *http.Request, guest *guest) (slot, error) {
	claims := gather(r, []claim{a.anonymousClaim})
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	for {
		decision, reservation := a.Limiter.Reserve(r.Context(), claims...)
		s := slot{w: w, r: r, decision: decision, reservation: reservation}
		if decision.Allowed {
			return s, nil
		}
		if decision.Unavailable || !guest.wait(ctx) {
			s.keep()
			return s, refusal(r, decision)
		}
	}
}
