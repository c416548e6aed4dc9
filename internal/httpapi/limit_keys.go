package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"time"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/clientip"
	"example.com/bankapi/internal/ratelimit"
)

// limitKeyJSON is what one owner has left of one policy.
type limitKeyJSON struct {
	policyJSON
	Key string `json:"key"` // hashed
}

// inspectKey shows one key of a policy: /ratelimit/keys/login-account/ada@example.com, .../ip/192.0.2.7.
func (a *api) inspectKey(w http.ResponseWriter, r *http.Request) error {
	claim, err := a.namedClaim(r)
	if err != nil {
		return err
	}
	d := a.Limiter.Peek(r.Context(), claim)
	switch {
	case r.Context().Err() != nil:
		return r.Context().Err()
	case d.Statuses[0].Unknown:
		return errLimitsUnknown
	}
	return respond(w, http.StatusOK, limitKeyJSON{policyShape(claim.Policy, d.Statuses[0]), hashedKey(claim.Key)})
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
	a.Log.InfoContext(r.Context(), "limit reset", "policy", claim.Policy.Name, "key", hashedKey(claim.Key))
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

// hashedKey names a key without saying whose it is: e-mail addresses do not belong in what operators pass around.
func hashedKey(k ratelimit.Key) string {
	sum := sha256.Sum256([]byte(k.Owner + "\x00" + k.Part))
	return hex.EncodeToString(sum[:8])
}

// ceilSeconds rounds a wait up to whole seconds.
func ceilSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
