package ratelimit

import "context"

// This file asks for policies on trial (Policy.Shadow): each counts as if it were in force and refuses nobody.
//
//	Take: "user" and "ip" in one step -> refused: nothing is charged to the shadows either
//	                                  -> admitted: then each shadow by itself, and the Observer is told

// askShadows asks for each claim on trial by itself, so that none of them has a say in what becomes of the others.
func (l *Limiter) askShadows(ctx context.Context, d *Decision, question question) {
	for i := range d.Statuses {
		if !d.Statuses[i].Shadow {
			continue
		}
		b, out := l.backend(&d.Claims[i]), make([]Status, 1)
		if err := question(b, ctx, d.Claims[i:i+1], out); err != nil {
			if ctx.Err() == nil {
				l.storeFailed(b, err)
			}
			continue
		}
		d.Statuses[i] = out[0]
		d.Statuses[i].Shadow, d.Statuses[i].Allowed = true, true
	}
}
