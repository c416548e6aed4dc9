package httpapi

import (
	"errors"
	"net/http"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/ratelimit"
)

// signUp counts every try whose password gets as far as the hash: also one that finds the e-mail address taken, so that
// nobody can ask for addresses faster than they can sign up.
func (a *api) signUp(w http.ResponseWriter, r *http.Request) error {
	email, password, err := readCredentials(r)
	if err != nil {
		return err
	}
	slot, err := a.reserve(w, r, a.signUpClaim(r))
	if err != nil {
		return err
	}
	user, err := a.Auth.SignUp(r.Context(), email, password)
	if err != nil && !errors.Is(err, auth.ErrEmailTaken) {
		slot.giveBack()
		return err
	}
	slot.keep()
	if err != nil {
		return err
	}
	return respond(w, http.StatusCreated, userShape(user))
}

func (a *api) signUpClaim(r *http.Request) ratelimit.Claim {
	return ratelimit.Claim{Policy: a.limits().SignUpIP, Key: ratelimit.Key{Owner: exchangeOf(r).client}, Cost: 1}
}

func (a *api) me(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	user, err := a.Auth.Me(r.Context(), caller)
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, userShape(user))
}
