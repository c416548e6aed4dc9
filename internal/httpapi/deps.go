package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/singleflight"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/clientip"
	"example.com/bankapi/internal/idempotency"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/policyfile"
	"example.com/bankapi/internal/rates"
	"example.com/bankapi/internal/telemetry"
	"example.com/bankapi/internal/transfers"
	"example.com/bankapi/internal/webhooks"
)

// Deps is all that the API is made of, wired by hand in cmd/bankapi.
type Deps struct {
	Auth      *auth.Service
	Transfers *transfers.Service
	Webhooks  *webhooks.Service
	Keys      idempotency.Store
	Rates     rates.Store
	Limiter   *ratelimit.Limiter
	Limits    *policyfile.Live            // the policies in force
	ClientIP  clientip.Resolver           // whose address is it; the zero value trusts no proxy
	Ready     func(context.Context) error // nil error: can serve

	Now     func() time.Time
	Log     *slog.Logger
	Metrics *telemetry.Metrics // may be nil

	Timeout   time.Duration // for one request; 0 means 10 s
	Origins   []string      // of pages that may call the API; none means all
	BehindTLS bool          // TLS stands in front: send Strict-Transport-Security
}

const defaultTimeout = 10 * time.Second

// api is Deps with the defaults filled in and the pages rendered. The handlers are its methods.
type api struct {
	Deps
	docs         docsUI
	problemPages map[string]problemPage
	lookUps      singleflight.Group // of tokens that are not known, by address and token
	lobby        lobby              // where they wait
}

func newAPI(d Deps) *api {
	if err := d.check(); err != nil {
		panic("httpapi: " + err.Error())
	}
	if d.Timeout == 0 {
		d.Timeout = defaultTimeout
	}
	pages, err := renderProblemPages()
	if err != nil {
		panic("httpapi: " + err.Error()) // the pages are embedded: a test would have found it
	}
	return &api{Deps: d, docs: newDocsUI(), problemPages: pages}
}

// check finds what is missing. That the limits fit the routes is policyfile's to check, which is given Routes.
func (d Deps) check() error {
	if d.Auth == nil || d.Transfers == nil || d.Limiter == nil || d.Limits == nil || d.Now == nil || d.Log == nil || d.Ready == nil {
		return errors.New("Deps is incomplete")
	}
	return nil
}
