package ratelimit

import "context"

// undo gives back what was charged before another store refused.
func (l *Limiter) undo(ctx context.Context, d *Decision, charged []part) {
	for i := range charged {
		p := &charged[i]
		statuses := make([]Status, len(p.claims))
		for j := range statuses {
			st := &d.Statuses[p.at(j)]
			if statuses[j] = *st; !st.Unknown {
				st.Remaining += p.claims[j].Cost
			}
		}
		l.giveBack(ctx, p.claims, statuses, nil)
	}
}

// giveBack returns what claims were charged, except for the costs kept, to where it was charged. It runs even when the
// request is over; a failure leaves it charged.
func (l *Limiter) giveBack(ctx context.Context, claims []Claim, statuses []Status, kept []int64) {
	ctx = context.WithoutCancel(ctx)
	var here, there []Claim
	for i, c := range claims {
		keep := int64(0)
		if i < len(kept) {
			keep = min(max(kept[i], 0), c.Cost)
		}
		switch st := &statuses[i]; {
		case st.Unknown || st.Exempt || st.WouldRefuse() || keep == c.Cost: // nothing was charged, or all is kept
		case st.Local:
			back := l.scaled(c)
			c.Cost = keep
			back.Cost -= l.scaled(c).Cost
			here = append(here, back)
		default:
			c.Cost -= keep
			there = append(there, c)
		}
	}
	if len(here) > 0 {
		_ = l.Local.Give(ctx, here) // memory has nothing to fail with
	}
	for _, p := range l.parts(nil, there, nil) {
		if err := p.backend.give(ctx, p.claims); err != nil {
			l.storeFailed(p.backend, err)
		}
	}
	l.Denials.forget(there)
}
