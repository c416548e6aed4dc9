package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Limiter asks the stores, and decides what their silence means. It is safe for concurrent use once its fields are
// set.
type Limiter struct {
	Default  *Backend            // where policies are counted
	Backends map[string]*Backend // where those named are counted instead; by policy name
	Observer Observer            // nil: nobody
	Now      func() time.Time    // dates decisions; nil: time.Now. Stores have their own clock
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
	parts := l.parts(buf[:0], claims)
	if len(parts) > 1 {
		claims = named(claims)
		parts = l.parts(nil, claims)
	}
	d := l.blank(claims)
	charging := true
	for i := range parts {
		if !charging {
			l.ask(ctx, &d, &parts[i], (*Backend).peek) // only to say what is left
		} else if !l.ask(ctx, &d, &parts[i], (*Backend).take) {
			l.undo(ctx, &d, parts[:i])
			charging = false
		}
	}
	d = d.judged()
	l.observe(ctx, &d)
	return d
}

// Peek decides as Take would and charges nothing. Nobody is told of it.
func (l *Limiter) Peek(ctx context.Context, claims ...Claim) Decision {
	d := l.blank(claims)
	for _, p := range l.parts(nil, claims) {
		l.ask(ctx, &d, &p, (*Backend).peek)
	}
	return d.judged()
}

// Reset forgets what the claims' keys have used.
func (l *Limiter) Reset(ctx context.Context, claims ...Claim) error {
	var errs []error
	for _, p := range l.parts(nil, claims) {
		if err := p.backend.reset(ctx, p.claims); err != nil {
			errs = append(errs, fmt.Errorf("reset limits in %s: %w", p.backend.Name, err))
		}
	}
	return errors.Join(errs...)
}

// blank is a decision in which nobody has answered yet.
func (l *Limiter) blank(claims []Claim) Decision {
	now := l.Now
	if now == nil {
		now = time.Now
	}
	return Decision{Claims: claims, Statuses: make([]Status, len(claims)), At: now()}
}

// ask puts a part of the claims to its store, and reports whether all of it is allowed.
func (l *Limiter) ask(ctx context.Context, d *Decision, p *part, question question) bool {
	out := d.Statuses
	if p.index != nil {
		out = make([]Status, len(p.claims))
	}
	if err := question(p.backend, ctx, p.claims, out); err != nil {
		l.failed(ctx, p, err, out)
	}
	allowed := true
	for i := range out {
		allowed = allowed && out[i].Allowed
		d.Statuses[p.at(i)] = out[i]
	}
	return allowed
}

// failed answers for a store that did not.
func (l *Limiter) failed(ctx context.Context, p *part, err error, out []Status) {
	gone := ctx.Err() != nil
	if !gone && l.Observer != nil {
		l.Observer.StoreFailed(p.backend.Name, err)
	}
	for i := range out {
		open := p.claims[i].Policy != nil && p.claims[i].Policy.OnFailure == FailOpen
		out[i] = Status{Unknown: true, Allowed: open && !gone}
	}
}

// undo gives back what was charged before another store refused.
func (l *Limiter) undo(ctx context.Context, d *Decision, charged []part) {
	for i := range charged {
		p := &charged[i]
		if d.Statuses[p.at(0)].Unknown {
			continue // it failed open
		}
		l.give(ctx, p.backend, p.claims)
		for j := range p.claims {
			d.Statuses[p.at(j)].Remaining += p.claims[j].Cost
		}
	}
}

// give returns claims to their store. It runs even when the request is over; a failure leaves them charged.
func (l *Limiter) give(ctx context.Context, b *Backend, claims []Claim) {
	err := b.give(context.WithoutCancel(ctx), claims)
	if err != nil && l.Observer != nil {
		l.Observer.StoreFailed(b.Name, err)
	}
}

// part is the claims that one store counts.
type part struct {
	backend *Backend
	claims  []Claim
	index   []int // where they stand among all claims; nil: they are all
}

func (p *part) at(i int) int {
	if p.index == nil {
		return i
	}
	return p.index[i]
}

// parts sorts claims by store, in the order in which the stores are first named.
func (l *Limiter) parts(parts []part, claims []Claim) []part {
	if len(claims) == 0 {
		return parts
	}
	first := l.backend(&claims[0])
	same := 1
	for same < len(claims) && l.backend(&claims[same]) == first {
		same++
	}
	if same == len(claims) {
		return append(parts, part{backend: first, claims: claims})
	}
	for i := range claims {
		b, j := l.backend(&claims[i]), 0
		for j < len(parts) && parts[j].backend != b {
			j++
		}
		if j == len(parts) {
			parts = append(parts, part{backend: b})
		}
		parts[j].claims = append(parts[j].claims, claims[i])
		parts[j].index = append(parts[j].index, i)
	}
	return parts
}

func (l *Limiter) backend(c *Claim) *Backend {
	if len(l.Backends) > 0 && c.Policy != nil {
		if b := l.Backends[c.Policy.Name]; b != nil {
			return b
		}
	}
	return l.Default
}
