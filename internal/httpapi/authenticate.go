package httpapi

import (
	"errors"
	"net/http"

	"example.com/bankapi/internal/auth"
)

// authenticate lets through who has a valid token. Everybody else is charged to the anonymous policy of their address and
// gets a 401, or a 429 once that is used up.
//
// A token that this process has not seen lately could be one of a million guesses, so its caller is charged before the
// look-up and gets the unit back if the token is good: a flood of made-up tokens ends before the database.
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
	slot, refused := a.reserve(w, r, gather(r, []claim{a.anonymousClaim})...)
	if refused != nil {
		return auth.Principal{}, refused
	}
	if err != nil {
		slot.keep()
		return auth.Principal{}, err
	}
	principal, err := a.Auth.Authenticate(r.Context(), token)
	if errors.Is(err, auth.ErrInvalidToken) {
		slot.keep()
	} else {
		slot.giveBack()
	}
	return principal, err
}
