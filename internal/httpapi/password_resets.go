package httpapi

import (
	"net/http"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/ratelimit"
)

type acceptedJSON struct {
	Message string `json:"message"`
}

var resetAccepted = acceptedJSON{"If a customer has this e-mail address, a mail is on its way to it. Its token is good for 30 minutes."}

// requestReset answers the same to everybody: it does not know itself whether the address is a customer's.
func (a *api) requestReset(w http.ResponseWriter, r *http.Request) error {
	body, err := readFields(r)
	if err != nil {
		return err
	}
	email := body.email("email")
	if err := body.err(); err != nil {
		return err
	}
	slot, err := a.reserve(w, r, a.resetClaim(email))
	if err != nil {
		return err
	}
	if err := a.Auth.RequestReset(email); err != nil {
		slot.giveBack()
		return err
	}
	slot.keep()
	return respond(w, http.StatusAccepted, resetAccepted)
}

func (a *api) resetClaim(email string) ratelimit.Claim {
	return ratelimit.Claim{Policy: a.limits().PasswordResetEmail, Key: ratelimit.Key{Owner: email}, Cost: 1}
}

// confirmReset needs no limit of its own: a token cannot be guessed, and no password is hashed without a good one.
func (a *api) confirmReset(w http.ResponseWriter, r *http.Request) error {
	body, err := readFields(r)
	if err != nil {
		return err
	}
	token, password := body.text("token", maxSecret), body.secret("password", maxSecret)
	if err := body.err(); err != nil {
		return err
	}
	if err := a.Auth.ConfirmReset(r.Context(), token, password); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// email takes an e-mail address, in the one form that limits and look-ups use.
func (f *fields) email(name string) string {
	text := f.text(name, maxEmail)
	if text == "" {
		return ""
	}
	email, err := auth.NormalizeEmail(text)
	if err != nil {
		f.fault(name, "Must be an e-mail address.")
	}
	return email
}
