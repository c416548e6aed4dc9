package httpapi

import (
	"errors"
	"net/http"
	"time"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/ratelimit"
)

type sessionJSON struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
	User      userJSON  `json:"user"`
}

// maxSecret keeps a password within reason. auth decides what is a good one.
const (
	maxEmail  = 254
	maxSecret = 1024
)

// readCredentials reads {"email","password"}; the e-mail comes out in the one form that limits and look-ups use.
func readCredentials(r *http.Request) (email, password string, err error) {
	body, err := readFields(r)
	if err != nil {
		return "", "", err
	}
	email, password = body.email("email"), body.secret("password", maxSecret)
	return email, password, body.err()
}

// logIn reserves a failure for the e-mail address and for the client's address before it looks at the password, and gives
// them back if the password was right. So only failures count, and a flood of guesses cannot get more looked at than
// there were slots.
func (a *api) logIn(w http.ResponseWriter, r *http.Request) error {
	email, password, err := readCredentials(r)
	if err != nil {
		return err
	}
	slot, err := a.reserve(w, r, a.loginClaims(r, email)...)
	if err != nil {
		return err
	}
	session, err := a.Auth.LogIn(r.Context(), email, password)
	if errors.Is(err, auth.ErrBadCredentials) {
		slot.keep()
		return err
	}
	slot.giveBack()
	if err != nil {
		return err
	}
	return respond(w, http.StatusCreated, sessionJSON{Token: session.Token, ExpiresAt: session.ExpiresAt.UTC(), User: userShape(session.User)})
}

func (a *api) loginClaims(r *http.Request, email string) []ratelimit.Claim {
	return []ratelimit.Claim{
		{Policy: a.limits().LoginAccount, Key: ratelimit.Key{Owner: email}, Cost: 1},
		{Policy: a.limits().LoginIP, Key: ratelimit.Key{Owner: exchangeOf(r).client}, Cost: 1},
	}
}

func (a *api) logOut(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	if err := a.Auth.LogOut(r.Context(), caller); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
