package httpapi

import (
	"log/slog"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/telemetry"
)

// LimitObserver counts what the limiter does, and warns when a store does not answer: from then on policies admit or
// refuse as their failure mode says, and somebody should know.
type LimitObserver struct {
	Log     *slog.Logger
	Metrics *telemetry.Metrics // may be nil
}

var _ ratelimit.Observer = LimitObserver{}

// Decided counts one claim.
func (o LimitObserver) Decided(policy string, outcome ratelimit.Outcome) {
	o.Metrics.Decision(policy, string(outcome))
}

// StoreFailed counts one failed call and warns.
func (o LimitObserver) StoreFailed(store string, err error) {
	o.Metrics.StoreFailure(store)
	o.Log.Warn("limiter store failed", "store", store, "error", err)
}
