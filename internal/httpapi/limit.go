package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// A claim says what a request is charged: which policy, whose key, how much.
type claim func(*http.Request) ratelimit.Claim

// limit charges each request all claims of its stage, or refuses it. Nothing behind it has run by then: no body is read,
// no database asked.
func (a *api) limit(claims ...claim) func(http.Handler) http.Handler {
	return ratelimit.Middleware(a.Limiter, func(r *http.Request) []ratelimit.Claim {
		return gather(r, claims)
	}, func(w http.ResponseWriter, r *http.Request, d ratelimit.Decision) {
		a.fail(w, r, refusal(r, d))
	})
}

// gather asks each claim. One without a policy is none: the policy is unlimited.
func gather(r *http.Request, claims []claim) []ratelimit.Claim {
	asked := make([]ratelimit.Claim, 0, len(claims))
	for _, claim := range claims {
		if c := claim(r); c.Policy != nil {
			asked = append(asked, c)
		}
	}
	return asked
}

// refusal turns a decision against a request into its problem: 429, or 503 if a policy that fails closed could not be
// asked. The log is told which policies it was.
func refusal(r *http.Request, d ratelimit.Decision) *Problem {
	x := exchangeOf(r)
	if d.Unavailable {
		x.refusedBy = unasked(d)
		return &Problem{Type: reducedCapacity, Detail: "A limit cannot be checked just now.", Violated: x.refusedBy}
	}
	x.refusedBy = d.Violated
	if d.RetryAfter == 0 {
		return &Problem{Type: quotaExceeded, Detail: "The request costs more than the limit ever allows.", Violated: d.Violated}
	}
	seconds := (d.RetryAfter + time.Second - 1) / time.Second
	detail := strconv.AppendInt([]byte("Nothing was done and nothing was charged. Send it again in "), int64(seconds), 10)
	return &Problem{Type: quotaExceeded, Detail: string(append(detail, " s."...)), Violated: d.Violated}
}

// unasked names the policies that refuse because they could not be asked.
func unasked(d ratelimit.Decision) []string {
	var names []string
	for i, status := range d.Statuses {
		if status.Unknown && !status.Allowed {
			names = append(names, d.Claims[i].Policy.Name)
		}
	}
	return names
}
