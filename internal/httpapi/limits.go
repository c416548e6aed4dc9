package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/ratelimit"
)

// policyJSON is a policy as it stands for the caller.
type policyJSON struct {
	Policy          string  `json:"policy"`
	Algorithm       string  `json:"algorithm"`
	Limit           int64   `json:"limit"`
	Remaining       int64   `json:"remaining"`
	ResetSeconds    int64   `json:"reset_seconds"`               // rounded up, until all units are back
	RefillPerSecond float64 `json:"refill_per_second,omitempty"` // buckets
	WindowSeconds   int64   `json:"window_seconds,omitempty"`    // windows
}

// getLimits shows every policy that concerns the caller and charges none of the caller's own.
func (a *api) getLimits(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	claims := append(gather(r, []claim{a.userClaim, a.dailyClaim, a.addressClaim, a.anonymousClaim, a.signUpClaim}),
		append(a.loginClaims(r, caller.Email), a.resetClaim(caller.Email))...)
	claims = slices.DeleteFunc(claims, func(c ratelimit.Claim) bool {
		return c.Policy.Shadow || c.Exempt // on trial, or not for them: no concern of theirs
	})
	for i := range claims {
		claims[i].Cost = 0
	}
	d := a.Limiter.Peek(r.Context(), claims...)
	if err := r.Context().Err(); err != nil {
		return err
	}
	data := make([]policyJSON, len(claims))
	for i, status := range d.Statuses {
		if status.Unknown {
			return errLimitsUnknown
		}
		data[i] = policyShape(claims[i].Policy, status)
	}
	return respond(w, http.StatusOK, struct {
		Data []policyJSON `json:"data"`
	}{data})
}

func policyShape(p *ratelimit.Policy, status ratelimit.Status) policyJSON {
	shape := policyJSON{
		Policy:       p.Name,
		Algorithm:    strings.ReplaceAll(p.Limit.Algorithm.String(), "-", "_"),
		Limit:        p.Limit.Capacity(),
		Remaining:    status.Remaining,
		ResetSeconds: int64((status.Reset + time.Second - 1) / time.Second),
	}
	switch p.Limit.Algorithm {
	case ratelimit.TokenBucket, ratelimit.LeakyBucket:
		shape.RefillPerSecond = float64(p.Limit.Quota) / p.Limit.Period.Seconds()
	default:
		shape.WindowSeconds = int64((p.Limit.Length() + time.Second - 1) / time.Second)
	}
	return shape
}
