package httpapi

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/policyfile"
)

// limits is the policy file in force. One request may see two of them, if they are exchanged under it.
func (a *api) limits() *policyfile.Limits { return a.Limits.Current() }

func (a *api) addressClaim(r *http.Request) ratelimit.Claim {
	return a.ofAddress(r, a.limits().IP)
}

func (a *api) anonymousClaim(r *http.Request) ratelimit.Claim {
	return a.ofAddress(r, a.limits().Anonymous)
}

// ofAddress counts a request under its address, unless that is exempt.
func (a *api) ofAddress(r *http.Request, p *ratelimit.Policy) ratelimit.Claim {
	l := a.limits()
	exempt := l.ExemptsAddresses() && l.ExemptsAddress(a.ClientIP.From(r.RemoteAddr, r.Header["X-Forwarded-For"]))
	return ratelimit.Claim{Policy: p, Key: ratelimit.Key{Owner: exchangeOf(r).client}, Cost: 1, Exempt: exempt}
}

func (a *api) userClaim(r *http.Request) ratelimit.Claim {
	x, l := exchangeOf(r), a.limits()
	return a.ofUser(x, l.Plan(x.principal.Plan).User, l.Costs(r.Method, routeOf(r)).User)
}

func (a *api) dailyClaim(r *http.Request) ratelimit.Claim {
	x, l := exchangeOf(r), a.limits()
	return a.ofUser(x, l.Plan(x.principal.Plan).Daily, l.Costs(r.Method, routeOf(r)).Daily)
}

// ofUser counts a request under the caller, unless they are exempt.
func (a *api) ofUser(x *exchange, p *ratelimit.Policy, cost int64) ratelimit.Claim {
	return ratelimit.Claim{Policy: p, Key: ratelimit.Key{Owner: x.user}, Cost: cost, Exempt: a.limits().ExemptsPrincipal(x.user)}
}

// Routes returns the routes that charge a customer's policies: those that a policy file may price.
func Routes() []policyfile.Route {
	var routes []policyfile.Route
	// The handlers are only walked over, so that nothing they need has to be there.
	_ = chi.Walk((&api{}).router(), func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if stagesOf(method, pattern).member {
			routes = append(routes, policyfile.Route{Method: method, Pattern: pattern})
		}
		return nil
	})
	return routes
}
