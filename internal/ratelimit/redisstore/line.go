package redisstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxTrips is how many round trips of several calls are under way at once: one is answered while the next one is written.
const maxTrips = 2

// line is where calls wait for a round trip. A call that finds nobody there leaves at once; those that arrive while the
// trips are under way leave together with the next one, in one pipeline. Each of them is still a script of its own that is
// decided alone. A busy process so spends most of its time on decisions and not on system calls.
//
// Nobody waits beyond his context, and a call whose context is over is not sent any more: what was queued in front of a
// server that hangs is not applied when it wakes up.
type line struct {
	client redis.UniversalClient

	mu      sync.Mutex
	waiting []*call
	trips   int
}

// call is one script and its arguments, and from when done is closed its answer.
type call struct {
	ctx    context.Context
	script *redis.Script
	keys   []string
	args   []any
	done   chan struct{}
	answer *redis.Cmd
}

// run returns the script's answer.
func (l *line) run(ctx context.Context, script *redis.Script, keys []string, args []any) *redis.Cmd {
	c := &call{ctx: ctx, script: script, keys: keys, args: args}
	if !l.enter(c) {
		select {
		case <-c.done:
		case <-ctx.Done():
			return failed(ctx, ctx.Err())
		}
	} else {
		c.answer = script.Run(ctx, l.client, keys, args...)
		l.leave()
	}
	if redis.HasErrorPrefix(c.answer.Err(), "NOSCRIPT") { // a pipeline cannot send it in full
		return script.Eval(ctx, l.client, keys, args...)
	}
	return c.answer
}

// enter reports whether the call may leave at once; else it waits.
func (l *line) enter(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trips < maxTrips {
		l.trips++
		return true
	}
	c.done = make(chan struct{})
	l.waiting = append(l.waiting, c)
	return false
}

// leave ends a trip. Whoever waits goes on the next one, for which nobody who is done has to stay.
func (l *line) leave() {
	if next := l.next(); next != nil {
		go func() {
			for ; next != nil; next = l.next() {
				l.send(next)
			}
		}()
	}
}

// next returns the calls of the next trip, or ends it if there are none.
func (l *line) next() []*call {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.waiting
	l.waiting = nil
	if len(calls) == 0 {
		l.trips--
		return nil
	}
	return calls
}

// send runs calls in one round trip.
func (l *line) send(calls []*call) {
	calls = slices.DeleteFunc(calls, func(c *call) bool { return c.ctx.Err() != nil })
	if len(calls) == 0 {
		return
	}
	ctx, cancel := together(calls)
	defer cancel()
	p := l.client.Pipeline()
	for _, c := range calls {
		c.answer = c.script.EvalSha(ctx, p, c.keys, c.args...)
	}
	_, _ = p.Exec(ctx) // each answer has its own error
	for _, c := range calls {
		close(c.done)
	}
}

// together is a context that lasts as long as the longest of the calls': each of them watches its own.
func together(calls []*call) (context.Context, context.CancelFunc) {
	var last time.Time
	for _, c := range calls {
		deadline, limited := c.ctx.Deadline()
		if !limited {
			return context.Background(), func() {}
		}
		if deadline.After(last) {
			last = deadline
		}
	}
	return context.WithDeadline(context.Background(), last)
}

func failed(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(err)
	return cmd
}
