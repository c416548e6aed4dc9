package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Limiter asks the stores, and decides what their silence means. It is safe for concurrent use once its fields are
// set.
type Limiter struct {
	Default  *Backend            // where policies are counted
	Backends map[string]*Backend // where those named are counted instead; by policy name
	Observer Observer            // nil: nobody
	Refusals *Refusals           // counts who is refused most; nil: nobody does
	Now      func() time.Time    // dates decisions; nil: time.Now. Stores have their own clock

	// Denials remembers refusals of stores other than Memory, so that these need not be asked again; nil: they are.
	Denials *Denials

	Local     *Memory // counts for policies that Share while their store is away; nil: they admit everybody
	Instances int     // among which a limit is then divided; 0: 1
}

// Take charges all claims, or none if any is refused. It returns within the budgets of the stores concerned,
// whatever they do.
//
// Claims counted in one store are one atomic step of it. Claims in several stores are taken store by store, and what
// the first ones charged is given back when a later one refuses.
//
// When the client went away before a store answered, the request is not allowed, and it is not the store's failure.
func (l *Limiter) Take(ctx context.Context, claims ...Claim) Decision {
	var buf [1]part
	d := l.blank(claims)
	parts := l.parts(buf[:0], d.Claims, d.Statuses)
	if len(parts) > 1 {
		d.Claims = named(claims)
		parts = l.parts(nil, d.Claims, d.Statuses)
	}
	if l.Denials != nil {
		l.chargeUnlessDenied(ctx, &d, parts)
	} else {
		l.charge(ctx, &d, parts)
	}
	if d.judge(); d.Allowed {
		l.askShadows(ctx, &d, (*Backend).take)
	}
	l.observe(ctx, &d)
	return d
}

// chargeUnlessDenied asks the stores what they have not refused before.
func (l *Limiter) chargeUnlessDenied(ctx context.Context, d *Decision, parts []part) {
	var buf [8]inquiry
	asked, known := l.recall(d, buf[:0])
	if d.Remembered = known; !known {
		l.charge(ctx, d, parts)
		l.learn(d, asked)
	}
}

// charge asks the stores in turn.
func (l *Limiter) charge(ctx context.Context, d *Decision, parts []part) {
	charging := true
	for i := range parts {
		if !charging {
			l.ask(ctx, d, &parts[i], (*Backend).peek) // only to say what is left
		} else if !l.ask(ctx, d, &parts[i], (*Backend).take) {
			l.undo(ctx, d, parts[:i])
			charging = false
		}
	}
}

// Peek decides as Take would and charges nothing. Nobody is told of it.
func (l *Limiter) Peek(ctx context.Context, claims ...Claim) Decision {
	d := l.blank(claims)
	for _, p := range l.parts(nil, d.Claims, d.Statuses) {
		l.ask(ctx, &d, &p, (*Backend).peek)
	}
	l.askShadows(ctx, &d, (*Backend).peek)
	d.judge()
	return d
}

// Reset forgets what the claims' keys have used.
func (l *Limiter) Reset(ctx context.Context, claims ...Claim) error {
	var errs []error
	claims = slices.DeleteFunc(slices.Clone(claims), func(c Claim) bool {
		return c.Policy != nil && c.Policy.Limit.Algorithm == Unlimited
	})
	for _, p := range l.parts(nil, claims, nil) {
		if err := p.backend.reset(ctx, p.claims); err != nil {
			errs = append(errs, fmt.Errorf("reset limits in %s: %w", p.backend.Name, err))
		}
	}
	l.Denials.forget(claims)
	return errors.Join(errs...)
}

// blank is a decision in which nobody has answered yet.
func (l *Limiter) blank(claims []Claim) Decision {
	now := l.Now
	if now == nil {
		now = time.Now
	}
	d := Decision{Claims: claims, Statuses: make([]Status, len(claims)), At: now(), instances: l.instances()}
	for i := range claims {
		switch p := claims[i].Policy; {
		case p == nil:
		case p.Limit.Algorithm == Unlimited, claims[i].Exempt:
			d.Statuses[i] = Status{Exempt: true, Allowed: true, Remaining: maxUnits}
		case p.Shadow:
			d.Statuses[i] = Status{Shadow: true, Allowed: true, Unknown: true}
		}
	}
	return d
}

// ask puts a part of the claims to its store, and reports whether all of it is allowed.
func (l *Limiter) ask(ctx context.Context, d *Decision, p *part, question question) bool {
	out := d.Statuses
	if p.index != nil {
		out = make([]Status, len(p.claims))
	}
	if err := question(p.backend, ctx, p.claims, out); err != nil {
		l.failed(ctx, p, err, out, question)
	}
	allowed := true
	for i := range out {
		allowed = allowed && out[i].Allowed
		d.Statuses[p.at(i)] = out[i]
	}
	return allowed
}

// failed answers for a store that did not.
func (l *Limiter) failed(ctx context.Context, p *part, err error, out []Status, question question) {
	gone := ctx.Err() != nil
	if !gone {
		l.storeFailed(p.backend, err)
	}
	for i := range out {
		open := p.claims[i].Policy != nil && p.claims[i].Policy.OnFailure == FailOpen
		out[i] = Status{Unknown: true, Allowed: open && !gone}
	}
	if !gone {
		l.askShare(ctx, p.claims, out, question)
	}
}

// storeFailed tells of a call that failed. One that a breaker did not let through was none.
func (l *Limiter) storeFailed(b *Backend, err error) {
	if l.Observer != nil && !errors.Is(err, errAway) {
		l.Observer.StoreFailed(b.Name, err)
	}
}
