package httpapi

import (
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// New returns the API. It panics if a dependency is missing: that is a programmer's mistake, found at start-up.
func New(d Deps) http.Handler {
	return newAPI(d).router()
}

func (a *api) router() chi.Router {
	r := chi.NewRouter()

	// Every request, in this order, also those that match nothing.
	r.Use(a.begin, a.log, a.recover, a.secure, capBody, a.cors, middleware.GetHead)

	// Outside every limit: for people, probes and browsers. They share no bucket with customers.
	r.Get("/", a.page(a.home))
	r.Get("/docs", a.page(a.docsPage))
	r.Get("/docs/{asset}", a.page(a.docsAsset))
	r.Get("/openapi.yaml", a.page(a.openAPI))
	r.Get("/problems/{slug}", a.page(a.problemPage))
	r.Get("/healthz", a.page(a.healthz))
	r.With(a.deadline).Get("/readyz", a.page(a.readyz))

	// Behind the address's limits. Group middleware runs after the match, so the route pattern is known to it. The
	// deadline starts behind them: a store has a budget of its own, and a refusal needs no timer.
	byAddress := a.limit(a.addressClaim)
	r.NotFound(byAddress(a.page(a.notFound)).ServeHTTP)
	r.MethodNotAllowed(byAddress(a.page(a.methodNotAllowed)).ServeHTTP)
	r.With(byAddress, a.deadline).Post("/sessions", a.public(a.logIn)) // and login-account, login-ip: see sessions.go
	r.Group(func(r chi.Router) {
		r.Use(a.limit(a.addressClaim, a.anonymousClaim), a.deadline)
		r.Get("/rates", a.public(a.getRates, "base"))
		r.Post("/users", a.public(a.signUp))                 // and signup-ip: see users.go
		r.Post("/password-resets", a.public(a.requestReset)) // and password-reset-email
		r.Post("/password-resets/confirm", a.public(a.confirmReset))
	})

	// Behind a bearer token and its user's limits. The policy file says what each route costs; what a transfer costs is
	// settled when it is known, and transfers-account and global-transfers come on top: see order_limits.go.
	r.With(byAddress, a.deadline, a.authenticate, a.hold(a.userClaim, a.dailyClaim)).Post("/transfers", a.member(a.createTransfer))
	r.Group(func(r chi.Router) {
		r.Use(byAddress, a.deadline, a.authenticate, a.limit(a.userClaim, a.dailyClaim))
		r.Delete("/sessions/current", a.member(a.logOut))
		r.Get("/me", a.member(a.me))
		r.Get("/accounts", a.member(a.listAccounts, "limit", "cursor"))
		r.Post("/accounts", a.member(a.openAccount))
		r.Get("/accounts/{id}", a.member(a.getAccount))
		r.Get("/accounts/{id}/entries", a.member(a.listEntries, "limit", "cursor"))
		r.Get("/transfers", a.member(a.listTransfers, "limit", "cursor"))
		r.Get("/transfers/{id}", a.member(a.getTransfer))
		r.Get("/idempotency-keys/{key}", a.member(a.getKey))
		r.Get("/limits", a.member(a.getLimits))
		r.Get("/api-keys", a.member(a.listAPIKeys, "limit", "cursor"))
		r.Post("/api-keys", a.member(a.createAPIKey))
		r.Delete("/api-keys/{id}", a.member(a.revokeAPIKey))
		r.Get("/webhooks", a.member(a.listWebhooks, "limit", "cursor"))
		r.Post("/webhooks", a.member(a.createWebhook))
		r.Delete("/webhooks/{id}", a.member(a.deleteWebhook))
	})
	return r
}
