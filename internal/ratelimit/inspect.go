package ratelimit

import (
	"context"
	"time"
)

// Inspection is what a Limiter knows of one claim, for operators.
type Inspection struct {
	Claim   Claim
	Status  Status        // as Take would answer it, alone; of a Shadow policy Allowed in any case
	Store   string        // where it is counted; empty: nowhere
	Err     error         // the store did not answer: Status says what the policy does then
	Breaker string        // closed, open or half-open; empty: the store has none, or one that does not say
	Denied  time.Duration // for so long this process refuses it without asking the store; 0: it asks
}

// Inspect says how each claim stands, by itself and without charging it or telling the Observer. The store is asked
// even for what is remembered as refused.
func (l *Limiter) Inspect(ctx context.Context, claims ...Claim) []Inspection {
	found := make([]Inspection, len(claims))
	for i := range claims {
		found[i] = l.inspect(ctx, claims[i:i+1:i+1])
	}
	return found
}

func (l *Limiter) inspect(ctx context.Context, claim []Claim) Inspection {
	d := l.blank(claim)
	if d.Statuses[0].Exempt {
		return Inspection{Claim: claim[0], Status: d.Statuses[0]}
	}
	b := l.backend(&claim[0])
	found := Inspection{Claim: claim[0], Store: b.Name, Denied: l.denied(&d)}
	if s, says := b.Breaker.(interface{ State() string }); says {
		found.Breaker = s.State()
	}
	shadow := d.Statuses[0].Shadow
	if found.Err = b.peek(ctx, claim, d.Statuses); found.Err != nil {
		d.Statuses[0] = Status{Unknown: true, Allowed: claim[0].Policy != nil && claim[0].Policy.OnFailure == FailOpen}
		l.askShare(ctx, claim, d.Statuses, (*Backend).peek)
	}
	found.Status = d.Statuses[0]
	if shadow {
		found.Status.Shadow, found.Status.Allowed = true, true
	}
	return found
}

// denied is for how long the decision's one claim is refused without asking.
func (l *Limiter) denied(d *Decision) time.Duration {
	if l.Denials == nil {
		return 0
	}
	remembered := l.blank(d.Claims)
	if _, known := l.recall(&remembered, nil); !known {
		return 0
	}
	return remembered.Statuses[0].Wait
}
