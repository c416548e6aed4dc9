package httpapi

import (
	"net/http"
	"net/http/pprof"

	"github.com/go-chi/chi/v5"
)

// NewAdmin returns what operators see: metrics, the audit of the ledger, the limits as they stand, profiles. It asks for no credentials, so it
// belongs on a listener that only the machine itself, or its operators' network, can reach, and answers only under an
// IP address or localhost.
func NewAdmin(d Deps) http.Handler {
	a := newAPI(d)
	r := chi.NewRouter()
	r.Use(a.begin, a.recover, a.secure, a.numberedHost, capBody)
	r.NotFound(a.page(a.notFound))
	r.MethodNotAllowed(a.page(a.methodNotAllowed))

	r.Method(http.MethodGet, "/metrics", d.Metrics.Handler())
	r.Get("/integrity", a.page(a.integrity))
	r.Post("/ratelimit/explain", a.page(a.explain))
	r.Get("/ratelimit/keys/{policy}/{owner}", a.page(a.inspectKey))
	r.Delete("/ratelimit/keys/{policy}/{owner}", a.page(a.resetKey))
	r.Get("/ratelimit/top", a.page(a.topRefused))
	r.Get("/debug/pprof/*", pprof.Index)
	r.Get("/debug/pprof/cmdline", pprof.Cmdline)
	r.Get("/debug/pprof/profile", pprof.Profile)
	r.Get("/debug/pprof/symbol", pprof.Symbol)
	r.Get("/debug/pprof/trace", pprof.Trace)
	return r
}

type integrityJSON struct {
	OK         bool             `json:"ok"`
	Accounts   int64            `json:"accounts"`
	Transfers  int64            `json:"transfers"`
	Currencies map[string]int64 `json:"currencies"` // the sum of all balances: 0
	Faults     []string         `json:"faults"`
}

// integrity audits the ledger in one snapshot. A ledger that does not add up is a 500: monitoring needs no parser.
func (a *api) integrity(w http.ResponseWriter, r *http.Request) error {
	report, err := a.Transfers.Integrity(r.Context())
	if err != nil {
		return err
	}
	shape := integrityJSON{
		OK: report.OK(), Accounts: report.Accounts, Transfers: report.Transfers,
		Currencies: map[string]int64{}, Faults: []string{},
	}
	for _, c := range report.Currencies {
		shape.Currencies[c.Currency] = c.Sum
	}
	for _, f := range report.Faults {
		shape.Faults = append(shape.Faults, f.Where+": "+f.What)
	}
	if !report.OK() {
		return respond(w, http.StatusInternalServerError, shape)
	}
	return respond(w, http.StatusOK, shape)
}
