package httpapi

import (
	"errors"
	"net/http"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/id"
)

func (a *api) createAPIKey(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	body, err := readFields(r)
	if err != nil {
		return err
	}
	name := body.text("name", maxNameLength)
	if err := body.err(); err != nil {
		return err
	}
	key, secret, err := a.Auth.CreateAPIKey(r.Context(), caller, name)
	if errors.Is(err, auth.ErrInvalidAPIKeyName) {
		body.fault("name", "Must have 1 to 64 printable characters, not only spaces.")
		return body.err()
	}
	if err != nil {
		return err
	}
	return created(w, "/api-keys/"+key.ID.Encode("key"), apiKeyShape(key, secret))
}

func (a *api) revokeAPIKey(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	key, err := id.Parse("key", pathParam(r, "id"))
	if err != nil {
		return malformedID("key")
	}
	if err := a.Auth.RevokeAPIKey(r.Context(), caller, key); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
