package ratelimit

import (
	"context"
	"math"
)

// This file counts for a store that is away: each process by itself, against its share of the limit.
//
//	store up:    3 processes -> one count, 10 at 2/s
//	store away:  each process -> Limiter.Local, where every unit weighs Instances: 10 at 2/s for 3 units each
//
// Weighing the cost instead of dividing the limit rounds nothing: together the processes admit at most the limit, and
// a count needs no limit of its own. Only a request dearer than the share is let through by taking all of it, because
// else it could not be made at all while the store is away.

// askShare answers for the claims whose policies Share. Nothing is charged when another of the claims cannot pass.
func (l *Limiter) askShare(ctx context.Context, claims []Claim, out []Status, question question) {
	if l.Local == nil {
		return
	}
	var shared []Claim
	var index []int
	closed := false
	for i := range claims {
		closed = closed || !out[i].Allowed
		if p := claims[i].Policy; p != nil && p.Share && out[i].Allowed {
			shared, index = append(shared, l.scaled(claims[i])), append(index, i)
		}
	}
	if len(shared) == 0 {
		return
	}
	statuses := make([]Status, len(shared))
	if closed {
		question = (*Backend).peek
	}
	if question(&Backend{Name: "local", Store: l.Local}, ctx, shared, statuses) != nil {
		return // a claim that no store could answer
	}
	for i, st := range statuses {
		st.Local = true
		st.Remaining /= l.instances()
		out[index[i]] = st
	}
}

// scaled is a claim as it weighs in this process's share.
func (l *Limiter) scaled(c Claim) Claim {
	capacity := c.Policy.Limit.Capacity()
	if c.Cost <= capacity { // else it passes never, here as there
		c.Cost = min(c.Cost, math.MaxInt64/l.instances()) * l.instances()
		c.Cost = min(c.Cost, capacity)
	}
	return c
}

func (l *Limiter) instances() int64 { return int64(max(l.Instances, 1)) }
