package httpapi

import (
	"net/http"
	"net/netip"
	"time"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/clientip"
	"example.com/bankapi/internal/ratelimit"
)

// limitKeyJSON is what one owner has left of one policy, and where that is counted.
type limitKeyJSON struct {
	policyJSON
	Key           string `json:"key"` // hashed
	Store         string `json:"store"`
	Breaker       string `json:"breaker,omitempty"`        // closed, open or half-open
	DeniedSeconds int64  `json:"denied_seconds,omitempty"` // for so long this process refuses without asking the store
}

// inspectKey shows one key of a policy: /ratelimit/keys/login-account/ada@example.com, .../ip/192.0.2.7.
func (a *api) inspectKey(w http.ResponseWriter, r *http.Request) error {
	claim, err := a.namedClaim(r)
	if err != nil {
		return err
	}
	found := a.Limiter.Inspect(r.Context(), claim)[0]
	switch {
	case r.Context().Err() != nil:
		return r.Context().Err()
	case found.Err != nil:
		exchangeOf(r).failure = found.Err
		return errLimitsUnknown
	}
	return respond(w, http.StatusOK, limitKeyJSON{
		policyJSON: policyShape(claim.Policy, found.Status), Key: a.nameOf(claim),
		Store: found.Store, Breaker: found.Breaker, DeniedSeconds: ceilSeconds(found.Denied),
	})
}

// resetKey forgets what one owner has used of a policy: a customer who is locked out can log in again.
func (a *api) resetKey(w http.ResponseWriter, r *http.Request) error {
	claim, err := a.namedClaim(r)
	if err != nil {
		return err
	}
	if err := a.Limiter.Reset(r.Context(), claim); err != nil {
		exchangeOf(r).failure = err
		return errLimitsUnknown
	}
	a.Log.InfoContext(r.Context(), "limit reset", "policy", claim.Policy.Name, "key", a.nameOf(claim))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// namedClaim is a claim of nothing for the policy and owner in the path. ?part= narrows the owner to an account, ?plan=
// chooses the numbers of a plan.
func (a *api) namedClaim(r *http.Request) (ratelimit.Claim, error) {
	query := r.URL.Query()
	p := a.limits().Named(pathParam(r, "policy"), query.Get("plan"))
	if p == nil {
		return ratelimit.Claim{}, errNotFound
	}
	key := ratelimit.Key{Owner: ownerOf(pathParam(r, "owner")), Part: query.Get("part")}
	return ratelimit.Claim{Policy: p, Key: key}, nil
}

// ownerOf spells an owner as the limits do: an address by what it is counted under, an e-mail address in its one form.
func ownerOf(text string) string {
	if addr, err := netip.ParseAddr(text); err == nil {
		return clientip.Bucket(addr).String()
	}
	if email, err := auth.NormalizeEmail(text); err == nil {
		return email
	}
	return text
}

// nameOf names a claim's key as topRefused does, without saying whose it is: e-mail addresses do not belong in what
// operators pass around.
func (a *api) nameOf(c ratelimit.Claim) string {
	if a.Limiter.Refusals == nil {
		return ""
	}
	return a.Limiter.Refusals.Name(c.Policy.Name, c.Key)
}

// topRefused lists the keys refused most of late, hashed. Who suspects somebody asks inspectKey for the name of their key.
func (a *api) topRefused(w http.ResponseWriter, r *http.Request) error {
	now := a.Now
	if a.Limiter.Now != nil { // refusals are dated by it
		now = a.Limiter.Now
	}
	top := []ratelimit.RefusedKey{}
	if a.Limiter.Refusals != nil {
		top = a.Limiter.Refusals.Top(now(), mostRefused)
	}
	return respond(w, http.StatusOK, struct {
		Data []ratelimit.RefusedKey `json:"data"`
	}{top})
}

const mostRefused = 100

// ceilSeconds rounds a wait up to whole seconds.
func ceilSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
