package load

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Run is a stretch of load on a server, or on several instances of one.
type Run struct {
	Addresses   []string        // host:port of each server
	Connections int             // dealt out among the servers; each has one request under way at most
	Requests    func() Requests // makes those of one connection

	WarmUp time.Duration // before the time that is measured
	Time   time.Duration
	Rate   float64 // requests that are due in a second, on all connections together; 0: each connection asks when it can

	Watch func(answers int64) // told some times a second how many there are so far; may be nil
}

// Requests returns the bytes of one request after another. Each is valid until the next call.
type Requests func() []byte

// patience is how long the last answers may take after the end.
const patience = 30 * time.Second

// Do returns when every request has its answer, or with the first connection's error, or when ctx ends.
func (r Run) Do(ctx context.Context) (Result, error) {
	wires, err := dial(ctx, r.Addresses, r.Connections)
	if err != nil {
		return Result{}, fmt.Errorf("load: %w", err)
	}
	defer hangUp(wires)
	s := newSchedule(r)
	expire(wires, s.end.Add(patience))
	defer s.watch(r.Watch)()
	tallies, err := s.all(ctx, wires, r.Requests)
	if ctx.Err() != nil {
		err = context.Cause(ctx) // whatever the broken-off connections say
	}
	if err != nil {
		return Result{}, fmt.Errorf("load: %w", err)
	}
	return sum(tallies, r.Time), nil
}

// schedule says when requests are due and which of them count. Its connections share it.
type schedule struct {
	start, from, end time.Time // what counts lies between the latter two
	every            time.Duration
	next             atomic.Int64 // request of a paced run that nobody has taken
	done             atomic.Int64
}

func newSchedule(r Run) *schedule {
	now := time.Now()
	s := &schedule{start: now, from: now.Add(r.WarmUp), end: now.Add(r.WarmUp + r.Time)}
	if r.Rate > 0 {
		s.every = time.Duration(float64(time.Second) / r.Rate)
	}
	return s
}

// all works on every connection. One that fails ends the others.
func (s *schedule) all(ctx context.Context, wires []*wire, requests func() Requests) ([]tally, error) {
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, func() { expire(wires, time.Now()) })()
	tallies := make([]tally, len(wires))
	for i, w := range wires {
		group.Go(func() (err error) {
			tallies[i], err = s.work(ctx, w, requests())
			return err
		})
	}
	return tallies, group.Wait()
}

// due waits until the next request is, and returns when it was: later than that it may be, if the server has kept all
// connections busy, and that is then part of its latency. It reports false at the end.
func (s *schedule) due(ctx context.Context) (time.Time, bool) {
	if s.every == 0 {
		now := time.Now()
		return now, now.Before(s.end) && ctx.Err() == nil
	}
	at := s.start.Add(time.Duration(s.next.Add(1)-1) * s.every)
	if !at.Before(s.end) {
		return at, false
	}
	select {
	case <-ctx.Done():
		return at, false
	case <-time.After(time.Until(at)):
		return at, true
	}
}

// work asks over one connection until the end.
func (s *schedule) work(ctx context.Context, w *wire, requests Requests) (tally, error) {
	t := tally{answers: map[int]int64{}}
	for {
		due, ok := s.due(ctx)
		if !ok {
			return t, ctx.Err()
		}
		status, err := w.ask(requests())
		if err != nil {
			return t, err
		}
		now := time.Now()
		s.done.Add(1)
		t.answers[status]++
		inTime := !now.Before(s.from) && now.Before(s.end)
		if inTime {
			t.answered++
		}
		// A paced request counts by when it was due, however late its answer: the slow ones must not drop out.
		if s.every == 0 && inTime || s.every > 0 && !due.Before(s.from) {
			t.latencies = append(t.latencies, now.Sub(due))
		}
	}
}

// watch tells f how far it is until stop is called.
func (s *schedule) watch(f func(int64)) (stop func()) {
	if f == nil {
		return func() {}
	}
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
				f(s.done.Load())
			}
		}
	}()
	return func() { close(quit); <-gone }
}
