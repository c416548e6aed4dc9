package webhooks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/id"
)

const (
	askEvery   = 500 * time.Millisecond // for the lock, and for a connection
	pageSize   = 1000                   // transfers read from the outbox at once
	perHook    = 16                     // deliveries of one hook under way or in line, at least
	noteWithin = 5 * time.Second        // for writing down what came of a delivery
)

// Run sends events until ctx ends, while no other process does. Then it takes up no more, waits for the requests that are
// under way, and returns nil. What it did not get to is sent by whoever runs next.
func (s *Service) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := s.lead(ctx); err != nil && ctx.Err() == nil {
			s.Log.WarnContext(ctx, "webhooks: sending was interrupted", "error", err)
		}
		rest(ctx, askEvery)
	}
	return nil
}

// lead waits for its turn to be the one that sends, and sends until ctx or the connection that holds the turn ends.
func (s *Service) lead(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, s.store.pool.Config().ConnConfig.Copy())
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { // the turn ends with its connection, after the last request
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing)
	}()
	for {
		leads, err := lead(ctx, conn)
		if err != nil {
			return fmt.Errorf("ask for the turn: %w", err)
		}
		if leads {
			return s.send(ctx, conn)
		}
		rest(ctx, askEvery)
	}
}

// rest returns after d, or when ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// sender is the state of one turn.
type sender struct {
	*Service
	running  sync.WaitGroup
	wake     chan struct{} // something is done: look whether there is more
	underWay underWay

	// Of the loop alone.
	lines     map[string]Line // by partner
	measureAt time.Time

	mu     sync.Mutex
	paused map[id.ID]time.Time // hooks that asked to be left alone, till when
}

func (s *Service) send(ctx context.Context, conn *pgx.Conn) error {
	ctx, stop := context.WithCancel(ctx)
	t := &sender{Service: s, wake: make(chan struct{}, 1), lines: map[string]Line{}, paused: map[id.ID]time.Time{}}
	defer t.Observer.Backlog(nil)
	defer t.running.Wait()
	defer stop()
	rest(ctx, time.Second/time.Duration(s.Rate)) // whoever sent before may have called a partner just now
	for ctx.Err() == nil {
		read, err := s.store.fanOut(ctx, conn, s.clock(), pageSize)
		if err != nil {
			return fmt.Errorf("read the outbox: %w", err)
		}
		t.underWay.look()
		due, err := s.store.due(ctx, conn, s.clock(), t.inLine())
		if err != nil {
			return fmt.Errorf("read what is due: %w", err)
		}
		if err := t.measure(ctx, conn); err != nil {
			return err
		}
		for _, d := range due {
			if err := t.start(ctx, d); err != nil {
				return err
			}
		}
		if read < pageSize {
			t.idle(ctx)
		}
	}
	return nil
}

// inLine is how many deliveries of one hook are taken up at once, and how many of one partner may stand in line: enough
// for a second, so that the line does not run dry between two looks.
func (t *sender) inLine() int { return max(perHook, int(t.Rate)) }

// idle returns after a poll's time, or a little after something was done.
func (t *sender) idle(ctx context.Context) {
	rest(ctx, t.Poll/5)
	timer := time.NewTimer(t.Poll)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.wake:
	case <-ctx.Done():
	}
}
