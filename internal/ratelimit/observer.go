package ratelimit

import "context"

// Outcome is what became of one claim.
type Outcome string

// The outcomes. They are few and known, so they may label a metric; keys never may.
const (
	Admitted     Outcome = "admitted"
	Exempted     Outcome = "exempt"        // not counted, and so admitted
	Refused      Outcome = "refused"       // by this policy
	AdmittedHere Outcome = "admitted_here" // its store did not answer: admitted by this process's share
	RefusedHere  Outcome = "refused_here"  // its store did not answer: refused by this process's share
	FailedOpen   Outcome = "failed_open"   // its store did not answer: admitted
	FailedClosed Outcome = "failed_closed" // its store did not answer: refused
	WouldAdmit   Outcome = "would_admit"   // a policy on trial: charged
	WouldRefuse  Outcome = "would_refuse"  // a policy on trial: refused, if it were not
)

// Observer is told what a Limiter does, for metrics and logs. Its methods are called on the path of the request, by
// many goroutines: they return at once.
type Observer interface {
	// Decided is told of each claim that was charged, of each that refused, and of each that could not be asked. A
	// claim that would have passed but for another's refusal is not told.
	Decided(policy string, outcome Outcome)
	// WouldRefuse is told of each claim that a policy on trial would have refused, beside Decided. key is its name as
	// in Refusals: no secret, and nobody's name; empty where no Refusals are kept.
	WouldRefuse(policy, key string)
	// StoreFailed is told of each call that a store failed or did not finish in time. A call that ended because the
	// client went away is not told, nor one that a Breaker did not let through.
	StoreFailed(store string, err error)
}

func (l *Limiter) observe(ctx context.Context, d *Decision) {
	if l.Observer == nil && (l.Refusals == nil || d.Allowed) {
		return
	}
	for i := range d.Statuses {
		if d.Statuses[i].Unknown && ctx.Err() != nil {
			continue
		}
		outcome := d.outcome(i)
		if outcome == "" {
			continue
		}
		if l.Observer != nil {
			l.tell(&d.Claims[i], outcome)
		}
		if l.Refusals != nil && (outcome == Refused || outcome == RefusedHere) {
			l.Refusals.add(&d.Claims[i], d.At)
		}
	}
}

func (l *Limiter) tell(c *Claim, outcome Outcome) {
	l.Observer.Decided(c.Policy.Name, outcome)
	if outcome != WouldRefuse {
		return
	}
	key := ""
	if l.Refusals != nil {
		key = l.Refusals.Name(c.Policy.Name, c.Key)
	}
	l.Observer.WouldRefuse(c.Policy.Name, key)
}

// outcome is what became of claim i; empty when it passed and another refused.
func (d *Decision) outcome(i int) Outcome {
	st := &d.Statuses[i]
	switch {
	case (st.Exempt || st.Shadow) && !d.Allowed, st.Unknown && (st.Shadow || d.Remembered):
		return ""
	case st.Exempt:
		return Exempted
	case st.WouldRefuse():
		return WouldRefuse
	case st.Shadow:
		return WouldAdmit
	case st.Unknown && st.Allowed:
		return FailedOpen
	case st.Unknown:
		return FailedClosed
	case !st.Allowed && st.Local:
		return RefusedHere
	case !st.Allowed:
		return Refused
	case d.Allowed && st.Local:
		return AdmittedHere
	case d.Allowed:
		return Admitted
	}
	return ""
}
