package transfers

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Retries wait between 0 and a bound that doubles with each.
const (
	firstBackoff = 5 * time.Millisecond
	lastBackoff  = 400 * time.Millisecond
)

// Run settles orders until ctx ends, then those that are still queued, and returns. It must run, once, for Transfer to be
// answered. Stop the callers of Transfer first: an order that comes later is answered ErrOverloaded.
func (s *Service) Run(ctx context.Context) error {
	w := newWriter(s.pool)
	defer w.close()
	lasting := context.WithoutCancel(ctx)
	for {
		batch := s.queue.take(ctx.Done(), s.now)
		if len(batch) == 0 {
			return nil
		}
		begun := s.now()
		ok := s.settle(lasting, w, batch)
		s.queue.settled(s.now().Sub(begun), ok)
	}
}

// settle answers every request of the batch and reports whether it went through at the first attempt. Nobody's
// cancellation reaches it: an order that was taken is seen through, for as long as the service's patience lasts.
func (s *Service) settle(ctx context.Context, w *writer, batch []*request) bool {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	for attempt := 0; ; attempt++ {
		verdicts, err := s.attempt(ctx, w, batch)
		switch {
		case err == nil:
			s.queue.decided(s.now())
			answerAll(batch, verdicts)
			s.settled(len(batch))
			return attempt == 0
		case isFinal(err):
			s.settleApart(ctx, w, batch, err)
			return false
		}
		s.log.Warn("transfer batch failed", slog.Int("attempt", attempt+1), slog.Int("orders", len(batch)), slog.Any("error", err))
		if !pause(ctx, attempt) {
			s.queue.decided(s.now())
			failAll(batch, fmt.Errorf("%w: settle transfers: %w", ErrOverloaded, err))
			return false
		}
	}
}

// attempt runs the batch in one transaction. After an error nothing may be said about any order, not even, if the
// connection broke during COMMIT, whether it went through; the next attempt finds that out.
func (s *Service) attempt(ctx context.Context, w *writer, batch []*request) ([]verdict, error) {
	orders := make([]*Order, len(batch))
	for i, r := range batch {
		orders[i] = &r.order
	}
	b, err := w.begin(ctx, orders)
	if err != nil {
		return nil, err
	}
	s.pass(AfterLocks)
	b.now, b.newID = s.now().UTC().Truncate(time.Microsecond), newTransferID
	verdicts := judge(b, orders)
	for i, r := range batch {
		r.recognise(&verdicts[i].receipt)
	}
	s.pass(BeforeCommit)
	if err := w.commit(ctx, b.now, orders, verdicts); err != nil {
		return nil, err
	}
	s.pass(AfterCommit)
	return verdicts, nil
}

// recognise tells a replay of somebody's order from the answer that this very request committed in an earlier attempt
// without learning that it had.
func (r *request) recognise(receipt *Receipt) {
	mine := r.attempt
	if mine != nil && mine.Transfer == receipt.Transfer && bytes.Equal(mine.Body, receipt.Body) {
		receipt.Replayed = mine.Replayed
	}
	r.attempt = receipt
}

// settleApart is the last resort when a batch meets an error that trying again does not cure: each order alone, so that
// the one at fault harms no other.
func (s *Service) settleApart(ctx context.Context, w *writer, batch []*request, err error) {
	if len(batch) == 1 {
		failAll(batch, fmt.Errorf("settle transfer: %w", err))
		return
	}
	s.log.Error("transfer batch is taken apart", slog.Int("orders", len(batch)), slog.Any("error", err))
	for i := range batch {
		s.settle(ctx, w, batch[i:i+1])
	}
}

func answerAll(batch []*request, verdicts []verdict) {
	for i, r := range batch {
		r.answer(verdicts[i].receipt, verdicts[i].err)
	}
}

func failAll(batch []*request, err error) {
	for _, r := range batch {
		r.answer(Receipt{}, err)
	}
}

// pause waits with full jitter before the next attempt and reports whether there may be one.
func pause(ctx context.Context, attempt int) bool {
	bound := min(firstBackoff<<min(attempt, 10), lastBackoff)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(rand.N(bound)): //nolint:gosec // jitter need not be secret
		return true
	}
}
