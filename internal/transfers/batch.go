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

// turn is a batch on its way to COMMIT.
type turn struct {
	batch []*request
	book  *book // nil until its accounts are locked, which the batch before it may have seen to
	again bool  // an attempt has failed
}

// Run settles orders until ctx ends, then those that are still queued, and returns. It must run, once, for Transfer to be
// answered. Stop the callers of Transfer first: an order that comes later is answered ErrOverloaded.
func (s *Service) Run(ctx context.Context) error {
	w := newWriter(s.pool)
	defer w.close()
	lasting := context.WithoutCancel(ctx)
	_ = w.connect(ctx) // so that the first order need not wait for it; it is tried again then
	var t turn
	for {
		if len(t.batch) == 0 {
			t.batch = s.queue.take(ctx.Done(), s.now)
		}
		if len(t.batch) == 0 {
			return nil
		}
		var next turn
		s.settle(lasting, w, t, &next)
		t = next
	}
}

// settle answers every request of a turn, and leaves in next, if given, the turn that was begun along with its COMMIT.
// Nobody's cancellation reaches it: an order that was taken is seen through, for as long as the service's patience lasts.
func (s *Service) settle(ctx context.Context, w *writer, t turn, next *turn) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	for attempt := 0; ; attempt++ {
		err := s.attempt(ctx, w, t, next)
		switch {
		case err == nil:
			return
		case isFinal(err):
			s.settleApart(ctx, w, t.batch, err)
			return
		}
		t.book, t.again = nil, true
		s.log.Warn("transfer batch failed", slog.Int("attempt", attempt+1), slog.Int("orders", len(t.batch)), slog.Any("error", err))
		if !pause(ctx, attempt) {
			s.failAll(t.batch, fmt.Errorf("%w: settle transfers: %w", ErrOverloaded, err))
			return
		}
	}
}

// attempt runs a turn in one transaction and answers its requests. After an error nothing may be said about any order, not
// even, if the connection broke during COMMIT, whether it went through; the next attempt finds that out.
//
// If next is given, whoever waits by then is taken along: the flush that commits this turn locks their accounts.
func (s *Service) attempt(ctx context.Context, w *writer, t turn, next *turn) (err error) {
	b, orders := t.book, ordersOf(t.batch)
	if b == nil {
		if b, err = w.begin(ctx, orders); err != nil {
			return err
		}
	}
	s.pass(AfterLocks)
	b.now, b.newID = s.now().UTC().Truncate(time.Microsecond), newTransferID
	verdicts := judge(b, orders)
	for i, r := range t.batch {
		r.recognise(&verdicts[i].receipt)
	}
	s.pass(BeforeCommit)
	var following []*request
	if next != nil {
		following = s.queue.follow()
	}
	locking, err := w.commit(ctx, b.now, orders, verdicts, ordersOf(following))
	if err != nil {
		s.queue.putBack(following)
		return err
	}
	s.pass(AfterCommit)
	s.answerAll(t, verdicts)
	if locking != nil {
		*next = turn{batch: following, book: s.locked(w, locking)}
	}
	return nil
}

// locked waits for the accounts of the next turn. If they cannot be had this way, that turn begins as the first one did.
func (s *Service) locked(w *writer, b *book) *book {
	if err := w.locked(b); err != nil {
		s.log.Warn("transfer batch begins anew", slog.Any("error", err))
		return nil
	}
	return b
}

func ordersOf(batch []*request) []*Order {
	orders := make([]*Order, len(batch))
	for i, r := range batch {
		orders[i] = &r.order
	}
	return orders
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
		s.failAll(batch, fmt.Errorf("settle transfer: %w", err))
		return
	}
	s.log.Error("transfer batch is taken apart", slog.Int("orders", len(batch)), slog.Any("error", err))
	for i := range batch {
		s.settle(ctx, w, turn{batch: batch[i : i+1], again: true}, nil)
	}
}

func (s *Service) answerAll(t turn, verdicts []verdict) {
	s.queue.settled(t.batch, s.now(), !t.again)
	for i, r := range t.batch {
		r.answer(verdicts[i].receipt, verdicts[i].err)
	}
	s.settled(len(t.batch))
}

func (s *Service) failAll(batch []*request, err error) {
	s.queue.settled(batch, s.now(), false)
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
