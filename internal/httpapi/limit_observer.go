package httpapi

import (
	"log/slog"
	"sync"
	"time"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/telemetry"
)

// LimitObserver counts what the limiter does, and warns when a store does not answer: from then on policies admit or
// refuse as their failure mode says, and somebody should know.
type LimitObserver struct {
	Log     *slog.Logger
	Metrics *telemetry.Metrics // may be nil
	Now     func() time.Time   // nil means time.Now

	mu     sync.Mutex
	warned map[string]*warned // by store
}

type warned struct {
	at   time.Time
	more int // failures since, not told
}

// warnEvery is how often one store is told of, however many requests it fails.
const warnEvery = time.Second

var _ ratelimit.Observer = (*LimitObserver)(nil)

// Decided counts one claim.
func (o *LimitObserver) Decided(policy string, outcome ratelimit.Outcome) {
	o.Metrics.Decision(policy, string(outcome))
}

// StoreFailed counts one failed call. It warns at once, and then at most once a second for each store, with the number of
// failures in between.
func (o *LimitObserver) StoreFailed(store string, err error) {
	o.Metrics.StoreFailure(store)
	if more, due := o.due(store); due {
		o.Log.Warn("limiter store failed", "store", store, "more_since_last", more, "error", err)
	}
}

func (o *LimitObserver) due(store string) (more int, due bool) {
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	at := now()
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.warned[store]
	if last != nil && at.Sub(last.at) < warnEvery {
		last.more++
		return 0, false
	}
	if last == nil {
		last = new(warned)
		if o.warned == nil {
			o.warned = map[string]*warned{}
		}
		o.warned[store] = last
	}
	more, last.more, last.at = last.more, 0, at
	return more, true
}
