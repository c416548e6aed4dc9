package httpapi

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/clientip"
	"example.com/bankapi/internal/id"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/transfers"
)

// question is a request that somebody thinks of sending.
type question struct {
	method, path string
	address      netip.Addr
	user, plan   string // no user: no valid token
	email        string // of POST /sessions and POST /password-resets
	account      transfers.AccountID
	hasAccount   bool
}

// explanation is what the limits would make of it now.
type explanation struct {
	Route       string     `json:"route"` // empty: none matches
	Answer      string     `json:"answer"`
	RefusedBy   []string   `json:"refused_by"`
	WaitSeconds int64      `json:"wait_seconds"`
	Policies    []standing `json:"policies"`
}

// standing is one policy and what is left of it for this caller.
type standing struct {
	Policy       string `json:"policy"`
	Skipped      string `json:"skipped,omitempty"` // why it does not count this request; then the rest is absent
	Algorithm    string `json:"algorithm,omitempty"`
	Mode         string `json:"mode,omitempty"`
	OnFailure    string `json:"on_failure,omitempty"`
	Key          string `json:"key,omitempty"` // hashed, as in the list of top refused keys
	Cost         int64  `json:"cost"`
	Limit        int64  `json:"limit,omitempty"`
	Remaining    int64  `json:"remaining"`
	Admits       bool   `json:"admits"`
	WaitSeconds  int64  `json:"wait_seconds"`
	ResetSeconds int64  `json:"reset_seconds"`
}

// The answers. An operator branches on them, so they are words and not sentences.
const (
	answerAdmitted    = "admitted"
	answerRefused     = "refused"
	answerUnavailable = "unavailable" // a store cannot be asked, and the policy fails closed
	answerUncounted   = "uncounted"   // outside the limits, or exempt from all
)

// explain says which policies a request would meet, at which price, and what they would answer now. It charges nothing.
func (a *api) explain(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuestion(r)
	if err != nil {
		return err
	}
	asked, route := a.asked(r.Context(), q)
	e := explanation{Answer: answerUncounted, Route: route, RefusedBy: []string{}, Policies: []standing{}}
	for _, stage := range asked {
		a.judge(r.Context(), &e, stage)
	}
	if err := r.Context().Err(); err != nil {
		return err
	}
	return respond(w, http.StatusOK, e)
}

func readQuestion(r *http.Request) (question, error) {
	body, err := readFields(r)
	if err != nil {
		return question{}, err
	}
	q := question{
		method: strings.ToUpper(body.text("method", 16)), path: body.text("path", 2048),
		user: body.optionalText("user", 64), plan: body.optionalText("plan", 64),
	}
	if _, err := url.ParseRequestURI(q.path); err != nil && q.path != "" {
		body.fault("path", "Must be a path such as /transfers.")
	}
	if address := body.optionalText("address", 64); address != "" {
		if q.address, err = netip.ParseAddr(address); err != nil {
			body.fault("address", "Must be an IPv4 or IPv6 address.")
		}
	}
	if _, err := id.Parse("usr", q.user); err != nil && q.user != "" {
		body.fault("user", `Must be an id: "usr_" and 26 lower-case letters and digits.`)
	}
	if email := body.optionalText("email", maxEmail); email != "" {
		if q.email, err = auth.NormalizeEmail(email); err != nil {
			body.fault("email", "Must be an e-mail address.")
		}
	}
	if q.hasAccount = body.members.index("account") >= 0; q.hasAccount {
		q.account = body.accountID("account")
	}
	return q, body.err()
}

// asking is one policy of a stage.
type asking struct {
	policy string
	claim  ratelimit.Claim
}

// skipped says why the policy does not count the request; empty if it does.
func (a asking) skipped() string {
	switch {
	case a.claim.Policy == nil:
		return "unlimited"
	case a.claim.Exempt:
		return "exempt"
	}
	return ""
}

// asked builds the request that is meant, and lets the claims of the API itself say what it would be charged, stage by
// stage.
func (a *api) asked(ctx context.Context, q question) (asked [][]asking, route string) {
	r, s := a.rehearsal(ctx, q)
	if pattern := routeOf(r); pattern != "" {
		route = q.method + " " + pattern
	}
	add := func(askings ...asking) { asked = append(asked, askings) }
	switch anonymous := (asking{"anonymous", a.anonymousClaim(r)}); {
	case s.address && s.anonymous:
		add(asking{"ip", a.addressClaim(r)}, anonymous)
	case s.address && s.member && q.user == "":
		add(asking{"ip", a.addressClaim(r)})
		add(anonymous)
		return asked, route
	case s.address:
		add(asking{"ip", a.addressClaim(r)})
	}
	if s.member {
		add(asking{"user", a.userClaim(r)}, asking{"daily", a.dailyClaim(r)})
	}
	if s.order && q.hasAccount {
		add(a.orderAskings(r, q)...)
	}
	if s.logIn && q.email != "" {
		claims := a.loginClaims(r, q.email)
		add(asking{"login-account", claims[0]}, asking{"login-ip", claims[1]})
	}
	if s.signUp {
		add(asking{"signup-ip", a.signUpClaim(r)})
	}
	if s.reset && q.email != "" {
		add(asking{"password-reset-email", a.resetClaim(q.email)})
	}
	return asked, route
}

func (a *api) orderAskings(r *http.Request, q question) []asking {
	askings := []asking{{policy: "transfers-account"}, {policy: "global-transfers"}}
	for _, c := range a.orderClaims(r, transfers.Order{From: q.account}) {
		for i := range askings {
			if askings[i].policy == c.Policy.Name {
				askings[i].claim = c
			}
		}
	}
	return askings
}

// rehearsal is the request that the claims are asked about: routed, and with the exchange its layers would have left.
func (a *api) rehearsal(ctx context.Context, q question) (*http.Request, stages) {
	path, _, _ := strings.Cut(q.path, "?")
	rctx := chi.NewRouteContext()
	method := q.method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	pattern := a.router().Find(rctx, method, path)
	r := &http.Request{Method: q.method, URL: &url.URL{Path: path}, Header: http.Header{}}
	client := ""
	if q.address.IsValid() {
		client, r.RemoteAddr = clientip.Bucket(q.address).String(), netip.AddrPortFrom(q.address, 0).String()
	}
	r = r.WithContext(context.WithValue(ctx, chi.RouteCtxKey, rctx))
	x := &exchange{client: client, user: q.user, principal: auth.Principal{Plan: q.plan}}
	return withExchange(r, x), stagesOf(method, pattern)
}

// judge asks the policies of one stage what they would answer. Once a stage has refused, the later ones are only shown.
func (a *api) judge(ctx context.Context, e *explanation, stage []asking) {
	var claims []ratelimit.Claim
	for _, asking := range stage {
		if asking.skipped() == "" {
			claims = append(claims, asking.claim)
		}
	}
	d := a.Limiter.Peek(ctx, claims...)
	next := 0
	for _, asking := range stage {
		if why := asking.skipped(); why != "" {
			e.Policies = append(e.Policies, standing{Policy: asking.policy, Skipped: why, Admits: true})
			continue
		}
		e.Policies = append(e.Policies, a.standingOf(d.Claims[next], d.Statuses[next]))
		next++
	}
	if len(claims) == 0 || e.Answer == answerRefused || e.Answer == answerUnavailable {
		return
	}
	e.Answer = answerAdmitted
	if d.Unavailable {
		e.Answer, e.RefusedBy, e.WaitSeconds = answerUnavailable, unasked(d), ceilSeconds(d.RetryAfter)
	} else if !d.Allowed {
		e.Answer, e.RefusedBy, e.WaitSeconds = answerRefused, d.Violated, ceilSeconds(d.RetryAfter)
	}
}

func (a *api) standingOf(c ratelimit.Claim, status ratelimit.Status) standing {
	p := c.Policy
	return standing{
		Policy: p.Name, Algorithm: p.Limit.Algorithm.String(), Mode: mode(p), OnFailure: onFailure(p), Key: a.nameOf(c),
		Cost: c.Cost, Limit: p.Limit.Capacity(), Remaining: status.Remaining, Admits: status.Allowed,
		WaitSeconds: ceilSeconds(status.Wait), ResetSeconds: ceilSeconds(status.Reset),
	}
}

func mode(p *ratelimit.Policy) string {
	if p.Shadow {
		return "shadow"
	}
	return "enforce"
}

func onFailure(p *ratelimit.Policy) string {
	switch {
	case p.OnFailure == ratelimit.FailClosed:
		return "closed"
	case p.Share:
		return "share"
	}
	return "open"
}
