package httpapi

import (
	"net/http"
	"time"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/id"
	"example.com/bankapi/internal/webhooks"
)

type webhookJSON struct {
	ID        string    `json:"id"`
	URL       string    `json:"url"`
	Secret    string    `json:"secret,omitempty"` // only in the answer that makes it
	CreatedAt time.Time `json:"created_at"`
}

func webhookShape(h webhooks.Hook, secret string) webhookJSON {
	return webhookJSON{ID: h.ID.Encode("hook"), URL: h.URL, Secret: secret, CreatedAt: h.CreatedAt.UTC()}
}

func (a *api) listWebhooks(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	at, err := windowOf(r, "webhooks of "+caller.User.String())
	if err != nil {
		return err
	}
	hooks, err := a.Webhooks.List(r.Context(), webhooks.OwnerID(caller.User))
	if err != nil {
		return err
	}
	position := func(h webhooks.Hook) [16]byte { return h.ID }
	page, more := cut(hooks, at, position)
	return respondList(w, r, at, page, more, func(h webhooks.Hook) webhookJSON { return webhookShape(h, "") }, position)
}

func (a *api) createWebhook(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	if caller.Kind != auth.Session { // else a leaked key would leave an ear behind when it is revoked
		return auth.ErrSessionRequired
	}
	body, err := readFields(r)
	if err != nil {
		return err
	}
	url := body.text("url", maxURL)
	if err := body.err(); err != nil {
		return err
	}
	hook, secret, err := a.Webhooks.Create(r.Context(), webhooks.OwnerID(caller.User), url)
	if err != nil {
		return err
	}
	return created(w, "/webhooks/"+hook.ID.Encode("hook"), webhookShape(hook, secret))
}

// maxURL is the longest address of a webhook. webhooks decides what is a good one.
const maxURL = 2048

func (a *api) deleteWebhook(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	if caller.Kind != auth.Session {
		return auth.ErrSessionRequired
	}
	hook, err := id.Parse("hook", pathParam(r, "id"))
	if err != nil {
		return malformedID("hook")
	}
	if err := a.Webhooks.Delete(r.Context(), webhooks.OwnerID(caller.User), hook); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
