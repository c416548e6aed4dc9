package webhooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"example.com/bankapi/internal/id"
)

// start delivers d in a goroutine, unless that is being done.
func (t *sender) start(ctx context.Context, d delivery) error {
	line, there := t.lines[d.partner]
	if !there {
		var err error
		if line, err = t.Line(t.Rate, t.inLine()); err != nil {
			return fmt.Errorf("make a line for a partner: %w", err)
		}
		t.lines[d.partner] = line
	}
	n := name{d.hook, d.row.id}
	if !t.underWay.begin(n) {
		return nil
	}
	t.running.Go(func() {
		t.deliver(ctx, line, d)
		t.underWay.end(n)
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
	arrived := t.Now()
	if line.Wait(ctx) != nil || t.isPaused(d.hook) {
		return
	}
	waited := t.Now().Sub(arrived)
	lasting := context.WithoutCancel(ctx) // a request once begun is finished; the client's timeout ends it
	pause, failure := t.post(lasting, d)
	t.Observer.Attempted(resultOf(failure), waited)
	lasting, cancel := context.WithTimeout(lasting, noteWithin)
	defer cancel()
	var err error
	if failure == nil {
		err = t.taken(lasting, d)
	} else {
		err = t.failed(lasting, d, pause, failure)
	}
	if err != nil { // it stays due and is sent once more: at least once is the promise
		t.Log.WarnContext(ctx, "webhooks: outcome not noted", "webhook", d.hook.Encode("hook"), "error", err)
	}
}

// taken notes that a delivery is over.
func (t *sender) taken(ctx context.Context, d delivery) error {
	err := t.store.taken(ctx, d)
	if err == nil {
		t.Observer.Ended(true)
	}
	return err
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
	err := t.store.failed(ctx, d, next, dead, leaveAlone)
	if err == nil && dead != nil {
		t.Observer.Ended(false)
	}
	return err
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
	return retryAfter(response.Header, t.Now()), refusal(response.Status)
}

// refusal is an answer that is no 2xx: its status line.
type refusal string

func (r refusal) Error() string { return "the partner answered " + string(r) }

func resultOf(failure error) Result {
	if failure == nil {
		return Taken
	}
	if _, answered := errors.AsType[refusal](failure); answered {
		return Refused
	}
	return Unanswered
}
