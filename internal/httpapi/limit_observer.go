package httpapi

import (
	"log/slog"
	"time"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/telemetry"
)

// LimitObserver counts what the limiter does. It warns when a store does not answer: from then on policies admit or
// refuse as their failure mode says, and somebody should know. And it logs whom a policy on trial would have refused,
// by the hashed key that the admin listener shows too. Neither floods the log: at most one line a second for each.
type LimitObserver struct {
	Log     *slog.Logger
	Metrics *telemetry.Metrics // may be nil
	Now     func() time.Time   // nil means time.Now

	failed, onTrial telemetry.Seldom // by store, by policy
}

var _ ratelimit.Observer = (*LimitObserver)(nil)

// Decided counts one claim.
func (o *LimitObserver) Decided(policy string, outcome ratelimit.Outcome) {
	o.Metrics.Decision(policy, string(outcome))
}

// StoreFailed counts one failed call, and warns.
func (o *LimitObserver) StoreFailed(store string, err error) {
	o.Metrics.StoreFailure(store)
	if more, due := o.failed.Due(o.now(), store); due {
		o.Log.Warn("limiter store failed", "store", store, "more_since_last", more, "error", err)
	}
}

// WouldRefuse logs one refusal that was none.
func (o *LimitObserver) WouldRefuse(policy, key string) {
	if more, due := o.onTrial.Due(o.now(), policy); due {
		o.Log.Info("limit on trial would have refused", "policy", policy, "more_since_last", more, "key", key)
	}
}

func (o *LimitObserver) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	now := time.Now // the default of a field
	return now()
}
