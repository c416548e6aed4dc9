package webhooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	running sync.WaitGroup
	wake    chan struct{} // something is done: look whether there is more

	mu       sync.Mutex
	lines    map[string]Line     // by partner
	paused   map[id.ID]time.Time // hooks that asked to be left alone, till when
	underWay map[name]bool
}

// name is a delivery's.
type name struct{ hook, transfer id.ID }

func (s *Service) send(ctx context.Context, conn *pgx.Conn) error {
	ctx, stop := context.WithCancel(ctx)
	t := &sender{Service: s, wake: make(chan struct{}, 1), lines: map[string]Line{}, paused: map[id.ID]time.Time{}, underWay: map[name]bool{}}
	defer t.running.Wait()
	defer stop()
	rest(ctx, time.Second/time.Duration(s.Rate)) // whoever sent before may have called a partner just now
	for ctx.Err() == nil {
		read, err := s.store.fanOut(ctx, conn, s.clock(), pageSize)
		if err != nil {
			return fmt.Errorf("read the outbox: %w", err)
		}
		due, err := s.store.due(ctx, conn, s.clock(), t.inLine())
		if err != nil {
			return fmt.Errorf("read what is due: %w", err)
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

// start delivers d in a goroutine, unless that is being done.
func (t *sender) start(ctx context.Context, d delivery) error {
	n := name{d.hook, d.row.id}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.underWay[n] {
		return nil
	}
	line, there := t.lines[d.partner]
	if !there {
		var err error
		if line, err = t.Line(t.Rate, t.inLine()); err != nil {
			return fmt.Errorf("make a line for a partner: %w", err)
		}
		t.lines[d.partner] = line
	}
	t.underWay[n] = true
	t.running.Go(func() {
		t.deliver(ctx, line, d)
		t.mu.Lock()
		delete(t.underWay, n)
		t.mu.Unlock()
		select {
		case t.wake <- struct{}{}:
		default:
		}
	})
	return nil
}

// deliver waits for the partner's turn, sends, and notes what came of it. What is not sent, because the line is full, the
// hook asked to be left alone meanwhile, or ctx has ended, stays due. Nothing that takes time stands between the turn and
// the request, so that the partner sees the rate too.
func (t *sender) deliver(ctx context.Context, line Line, d delivery) {
	if line.Wait(ctx) != nil || t.isPaused(d.hook) {
		return
	}
	lasting := context.WithoutCancel(ctx) // a request once begun is finished; the client's timeout ends it
	pause, failure := t.post(lasting, d)
	lasting, cancel := context.WithTimeout(lasting, noteWithin)
	defer cancel()
	var err error
	if failure == nil {
		err = t.store.taken(lasting, d)
	} else {
		err = t.failed(lasting, d, pause, failure)
	}
	if err != nil { // it stays due and is sent once more: at least once is the promise
		t.Log.WarnContext(ctx, "webhooks: outcome not noted", "webhook", d.hook.Encode("hook"), "error", err)
	}
}

// failed notes a failure: try again later, or give up after so many.
func (t *sender) failed(ctx context.Context, d delivery, pause time.Duration, failure error) error {
	now := t.clock()
	next := now.Add(max(jitter(backoff(d.attempts+1, t.FirstRetry)), pause))
	var dead, leaveAlone *time.Time
	if d.attempts+1 >= t.MaxAttempts {
		dead = &now
		t.Log.WarnContext(ctx, "webhooks: delivery given up", "webhook", d.hook.Encode("hook"), "event", d.row.eventID(), "attempts", d.attempts+1, "error", failure)
	}
	if pause > 0 {
		till := now.Add(pause)
		leaveAlone = &till
		t.mu.Lock()
		t.paused[d.hook] = till
		t.mu.Unlock()
	}
	return t.store.failed(ctx, d, next, dead, leaveAlone)
}

func (t *sender) isPaused(hook id.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clock().Before(t.paused[hook])
}

// post sends one request. Only a 2xx is no error; pause is how long the partner asked to be left alone.
func (t *sender) post(ctx context.Context, d delivery) (pause time.Duration, err error) {
	body, err := d.row.body()
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "bankapi-webhooks/1")
	sign(request.Header, d.secret, d.row.eventID(), t.Now(), body)
	response, err := t.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be used again
	if response.StatusCode/100 == 2 {
		return 0, nil
	}
	return retryAfter(response.Header, t.Now()), errors.New("the partner answered " + response.Status)
}
