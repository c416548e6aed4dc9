package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Backend is a store, and how long a request may wait for it.
type Backend struct {
	Name    string // in metrics and logs: memory, redis, postgres
	Store   Store
	Budget  time.Duration // 0: 50 ms
	Breaker Breaker       // nil: the store is asked whatever came of it before; package breaker has one
}

// Breaker spares a store that does not answer further calls, and their callers the wait. It is safe for concurrent use,
// and each Backend has its own.
type Breaker interface {
	// Ask reports whether the store may be asked. If so, done is called once with what came of it; an error that is
	// context.Canceled says nothing about the store, only that the caller left.
	Ask() (done func(error), ok bool)
}

// errAway is returned instead of asking a store that its breaker takes for away.
var errAway = errors.New("ratelimit: the store is known to be away")

const defaultBudget = 50 * time.Millisecond

// question is one way of asking a backend: take or peek.
type question func(*Backend, context.Context, []Claim, []Status) error

func (b *Backend) take(ctx context.Context, claims []Claim, out []Status) error {
	if m, local := b.Store.(*Memory); local {
		return m.Take(ctx, claims, out)
	}
	return b.within(ctx, out, func(ctx context.Context, out []Status) error { return b.Store.Take(ctx, claims, out) })
}

func (b *Backend) peek(ctx context.Context, claims []Claim, out []Status) error {
	return b.within(ctx, out, func(ctx context.Context, out []Status) error { return b.Store.Peek(ctx, claims, out) })
}

func (b *Backend) give(ctx context.Context, claims []Claim) error {
	return b.within(ctx, nil, func(ctx context.Context, _ []Status) error { return b.Store.Give(ctx, claims) })
}

func (b *Backend) reset(ctx context.Context, claims []Claim) error {
	return b.within(ctx, nil, func(ctx context.Context, _ []Status) error { return b.Store.Reset(ctx, claims) })
}

// within makes one call and waits for it no longer than the budget, even if the store does not listen to its context.
// A call given up on has its own memory to write to, so that a late answer disturbs nobody; its goroutine ends when
// the store returns. The memory store cannot block and is called as it is.
func (b *Backend) within(ctx context.Context, out []Status, call func(context.Context, []Status) error) error {
	if _, local := b.Store.(*Memory); local {
		return call(ctx, out)
	}
	if b.Breaker == nil {
		return b.timed(ctx, out, call)
	}
	done, ok := b.Breaker.Ask()
	if !ok {
		return errAway
	}
	err := b.timed(ctx, out, call)
	if err != nil && ctx.Err() != nil {
		done(context.Canceled)
	} else {
		done(err)
	}
	return err
}

// timed is within for a store that can block.
func (b *Backend) timed(ctx context.Context, out []Status, call func(context.Context, []Status) error) error {
	budget := b.Budget
	if budget == 0 {
		budget = defaultBudget
	}
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()

	own := make([]Status, len(out))
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil { // here it would end the process, not the request
				done <- fmt.Errorf("ratelimit: store %s panicked: %v", b.Name, r)
			}
		}()
		done <- call(ctx, own)
	}()
	select {
	case err := <-done:
		copy(out, own)
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
