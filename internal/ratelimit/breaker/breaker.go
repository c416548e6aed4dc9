// Package breaker is the circuit breaker of package ratelimit: a store that does not answer is left alone for a while,
// so that requests are decided at once by their fail mode or this process's share instead of each waiting in vain.
//
//	closed --- 5 failures in a row, or half of at least 20 ---> open: nobody asks
//	  ^                                                            | half a second
//	  +------------- answered ------------- half-open: one asks <--+
//	                                            | no answer
//	                                            +-------> open again
//
// So limits are shared again within a second of the store's return. Calls that were not made are forgotten, not queued.
// It is gobreaker with the settings that a limiter needs.
package breaker

import (
	"context"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"example.com/bankapi/internal/ratelimit"
)

const (
	inARow  = 5                // failures that open it
	few     = 20               // calls of which half may fail before it opens
	window  = 10 * time.Second // in which they are counted
	retryIn = 500 * time.Millisecond
)

// Breaker is a ratelimit.Breaker. It is safe for concurrent use.
type Breaker struct {
	circuit *gobreaker.TwoStepCircuitBreaker[struct{}]
}

var _ ratelimit.Breaker = (*Breaker)(nil)

// Options are all optional.
type Options struct {
	RetryIn  time.Duration               // from opening to the next try; 500 ms
	OnChange func(name, from, to string) // told of each change, one at a time: closed, open, half-open. It returns at once
}

// New returns a closed breaker for the store of one Backend, whose name it takes.
func New(name string, o Options) *Breaker {
	settings := gobreaker.Settings{
		Name:         name,
		MaxRequests:  1,
		Interval:     window,
		BucketPeriod: window / 10,
		Timeout:      o.RetryIn,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			ended := c.TotalSuccesses + c.TotalFailures
			return c.ConsecutiveFailures >= inARow || ended >= few && 2*c.TotalFailures >= ended
		},
		IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
	}
	if settings.Timeout == 0 {
		settings.Timeout = retryIn
	}
	if o.OnChange != nil {
		settings.OnStateChange = func(name string, from, to gobreaker.State) { o.OnChange(name, from.String(), to.String()) }
	}
	return &Breaker{gobreaker.NewTwoStepCircuitBreaker[struct{}](settings)}
}

// Ask implements ratelimit.Breaker.
func (b *Breaker) Ask() (done func(error), ok bool) {
	done, err := b.circuit.Allow()
	return done, err == nil
}

// State is closed, open or half-open.
func (b *Breaker) State() string { return b.circuit.State().String() }
