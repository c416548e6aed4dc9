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
	batch     []*request
	orders    []*Order
	book      *book     // nil until its accounts are locked, being locked or foreseen
	verdicts  []verdict // nil until it is judged and its writes are on their way
	sent      []string  // the writes
	locked    bool      // the book is, or will be, of accounts that are locked
	surprised bool      // it was foreseen, and turned out to be otherwise
	again     bool      // an attempt has failed
	done      bool      // committed, and nobody answered yet
}

func newTurn(batch []*request) turn { return turn{batch: batch, orders: ordersOf(batch)} }

// anew is the turn when nothing of it has been sent, or nothing is known of what was. Its requests keep in mind what it
// may have been.
func (t *turn) anew() turn {
	for i := range t.verdicts {
		t.batch[i].attempts = append(t.batch[i].attempts, &t.verdicts[i].receipt)
	}
	return turn{batch: t.batch, orders: t.orders, surprised: t.surprised, again: true}
}

// lock has the locking of its accounts on its way.
func (t *turn) lock(w *writer) error {
	t.locked, t.book = true, newBook(t.orders)
	return w.lock(t.book, t.orders)
}

// known is how its accounts were known to the attempt that committed.
func (t *turn) known() Known {
	switch {
	case !t.locked:
		return Foreseen
	case t.surprised:
		return Surprised
	}
	return Locked
}

// Run settles orders until ctx ends, then those that are still queued, and returns. It must run, once, for Transfer to be
// answered. Stop the callers of Transfer first: an order that comes later is answered ErrOverloaded.
func (s *Service) Run(ctx context.Context) error {
	w := newWriter(s.pool)
	defer w.close()
	lasting := context.WithoutCancel(ctx)
	s.connectSoon(ctx, w)
	var t turn
	for {
		if len(t.batch) == 0 {
			t = newTurn(s.queue.take(ctx.Done(), s.now))
		}
		if len(t.batch) == 0 {
			return nil
		}
		var next turn
		s.settle(lasting, w, t, &next)
		t = next
	}
}

// connectSoon dials, so that the first order need not wait for it. If it fails it is tried again then.
func (s *Service) connectSoon(ctx context.Context, w *writer) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	_ = w.connect(ctx)
}

// settle answers every request of a turn, and leaves in next, if given, the turn that was begun before its answer came.
// Nobody's cancellation reaches it: an order that was taken is seen through, for as long as the service's patience lasts.
func (s *Service) settle(ctx context.Context, w *writer, t turn, next *turn) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	for attempt := 0; ; attempt++ {
		err := s.attempt(ctx, w, &t, next)
		if err == nil {
			return
		}
		locked, surprised := t.locked, t.sent != nil && !t.locked && isServers(err)
		s.fallBack(w, next, surprised)
		t.surprised = t.surprised || surprised
		t = t.anew()
		if locked && isFinal(err) {
			s.settleApart(ctx, w, t.batch, err)
			return
		}
		if surprised {
			s.log.Debug("transfer batch was not foreseen", slog.Int("orders", len(t.batch)), slog.Any("error", err))
			continue
		}
		s.log.Warn("transfer batch failed", slog.Int("attempt", attempt+1), slog.Int("orders", len(t.batch)), slog.Any("error", err))
		if !pause(ctx, attempt) {
			s.failAll(t.batch, fmt.Errorf("%w: settle transfers: %w", ErrOverloaded, err))
			return
		}
	}
}

// attempt runs a turn in one transaction and answers its requests. After an error nothing may be said about any order, not
// even, if the connection broke, whether it went through; the next attempt finds that out.
//
// If next is given and empty, whoever waits by then may be taken along: see follow.
func (s *Service) attempt(ctx context.Context, w *writer, t, next *turn) (err error) {
	if t.done {
		s.answerAll(t)
		return nil
	}
	if err := w.connect(ctx); err != nil {
		return err
	}
	if t.sent == nil {
		if err := s.begin(w, t); err != nil {
			return err
		}
	}
	if next != nil && len(next.batch) == 0 {
		if err := s.follow(w, t, next); err != nil {
			return err
		}
	}
	if err := w.committed(t.sent); err != nil {
		return fmt.Errorf("commit transfers: %w", err)
	}
	s.pass(AfterCommit)
	if !t.locked {
		w.foresight.hit()
	}
	s.answerAll(t)
	if next != nil && next.locked {
		s.awaitLocks(w, next)
	}
	return nil
}

// begin has the writes of a turn on their way: at once if they can be foreseen, else when its accounts are locked.
func (s *Service) begin(w *writer, t *turn) error {
	if sent, err := s.foresee(w, t); sent || err != nil {
		return err
	}
	if t.book == nil {
		if err := t.lock(w); err != nil {
			return err
		}
		if err := w.locked(t.book); err != nil {
			return err
		}
	}
	return s.write(w, t, s.judge(t))
}

// follow has the next turn on its way while this one commits: foreseen, or with a flush that locks its accounts. A foreseen
// one that is small had better wait and grow: it would save no round trip, and each batch has a price of its own. The locks
// of one that follows a locked one always save one.
func (s *Service) follow(w *writer, t, next *turn) error {
	least := s.aheadFrom
	if t.locked {
		least = 1
	}
	*next = newTurn(s.queue.follow(least))
	if len(next.batch) == 0 {
		return nil
	}
	if sent, err := s.foresee(w, next); sent || err != nil {
		return err
	}
	return next.lock(w)
}

// foresee judges a turn by what is remembered of its accounts and sends its writes, if that is possible.
func (s *Service) foresee(w *writer, t *turn) (sent bool, err error) {
	if t.book != nil || t.again {
		return false, nil
	}
	if t.book = w.foresight.foresee(t.orders); t.book == nil {
		return false, nil
	}
	verdicts := s.judge(t)
	if !foreseeable(verdicts) {
		t.book = nil
		return false, nil
	}
	return true, s.write(w, t, verdicts)
}

func (s *Service) judge(t *turn) []verdict {
	s.pass(AfterLocks)
	t.book.now, t.book.newID = s.now().UTC().Truncate(time.Microsecond), newTransferID
	return judge(t.book, t.orders)
}

func (s *Service) write(w *writer, t *turn, verdicts []verdict) (err error) {
	for i, r := range t.batch {
		r.recognise(&verdicts[i].receipt)
	}
	s.pass(BeforeCommit)
	t.verdicts = verdicts
	t.sent, err = w.write(t.book, t.orders, verdicts, t.locked)
	return err
}

// fallBack is for when a turn was not committed. What else was foreseen is void, and what follows may be on its way. After a
// mere surprise it can be heard what became of that; else the connection, and with it every lock, is given up.
func (s *Service) fallBack(w *writer, next *turn, surprised bool) {
	w.foresight.miss()
	following := next != nil && len(next.batch) > 0 && !next.done
	switch {
	case surprised && following && !next.locked:
		err := w.committed(next.sent)
		if err != nil && !isServers(err) {
			w.close()
		} else {
			w.restartPipeline()
		}
		if next.done = err == nil; !next.done {
			next.surprised = true
			*next = next.anew()
		}
	case surprised && !following:
		w.restartPipeline()
	default:
		w.close()
		if following && next.locked {
			s.queue.putBack(next.batch)
			*next = turn{}
		} else if following {
			*next = next.anew()
		}
	}
}

// awaitLocks waits for the accounts of the next turn. If they cannot be had this way, that turn begins as the first one did.
func (s *Service) awaitLocks(w *writer, next *turn) {
	if err := w.locked(next.book); err != nil {
		s.log.Warn("transfer batch begins anew", slog.Any("error", err))
		*next = next.anew()
	}
}

func ordersOf(batch []*request) []*Order {
	orders := make([]*Order, len(batch))
	for i, r := range batch {
		orders[i] = &r.order
	}
	return orders
}

// recognise tells a replay of somebody's order from the answer that this very request committed in an earlier attempt
// without learning that it had. It need not have been the last one: what a broken connection carried can arrive late.
func (r *request) recognise(receipt *Receipt) {
	for _, mine := range r.attempts {
		if mine.Transfer == receipt.Transfer && bytes.Equal(mine.Body, receipt.Body) {
			receipt.Replayed = mine.Replayed
			return
		}
	}
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
		alone := newTurn(batch[i : i+1])
		s.settle(ctx, w, alone.anew(), nil)
	}
}

func (s *Service) answerAll(t *turn) {
	s.queue.settled(t.batch, s.now(), !t.again)
	for i, r := range t.batch {
		if t.verdicts[i].err == nil {
			r.place.remember()
		}
		r.answer(t.verdicts[i].receipt, t.verdicts[i].err)
	}
	s.settled(len(t.batch), t.known())
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
