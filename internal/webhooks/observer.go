package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Observer is told what a Service does, for metrics. Its methods are called by many goroutines, and return at once.
type Observer interface {
	// Attempted is told of each request: what came of it, and how long its delivery had stood in the partner's line.
	Attempted(result Result, waited time.Duration)
	// Ended is told of each delivery that is over: the partner has taken it, or it was given up.
	Ended(delivered bool)
	// Backlog is told what is still to be done, by the one process that sends; nil when it is this one no more.
	Backlog(*Backlog)
}

// Result is what came of one request. The results are few and known, so they may label a metric.
type Result string

// The results.
const (
	Taken      Result = "taken"      // answered with 2xx
	Refused    Result = "refused"    // answered with anything else
	Unanswered Result = "unanswered" // no connection, no answer in time, or no address that we call
)

// Backlog is what is still to be done.
type Backlog struct {
	Due     int           // deliveries that could be sent now, and those under way
	Waiting int           // for their next attempt, or for a partner that asked to be left alone
	Dead    int           // given up, and kept for people to look at
	Lag     time.Duration // age of the oldest transfer in the outbox that was not read yet; 0 if all were
}

type nobody struct{}

func (nobody) Attempted(Result, time.Duration) {}
func (nobody) Ended(bool)                      {}
func (nobody) Backlog(*Backlog)                {}

// measure tells the Observer of the backlog, if that is due.
func (t *sender) measure(ctx context.Context, conn *pgx.Conn) error {
	now := t.clock()
	if now.Before(t.measureAt) {
		return nil
	}
	t.measureAt = now.Add(t.Measure)
	b, err := t.store.backlog(ctx, conn, now)
	if err != nil {
		return fmt.Errorf("measure the backlog: %w", err)
	}
	t.Observer.Backlog(&b)
	return nil
}
