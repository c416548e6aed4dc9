package redisstore_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/redisstore"
)

// gate is a hook that holds every single command back until it is opened, and counts what goes in pipelines.
type gate struct {
	open      chan struct{}
	held      atomic.Int64
	pipelines atomic.Int64
	commands  atomic.Int64
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		g.held.Add(1)
		<-g.open
		return next(ctx, cmd)
	}
}

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == "evalsha" { // a new connection's greeting goes in a pipeline too
			g.pipelines.Add(1)
			g.commands.Add(int64(len(cmds)))
		}
		return next(ctx, cmds)
	}
}

// gated is a store on a server of its own with two calls under way, so that every further one has to wait.
func gated(t *testing.T) (s *redisstore.Store, g *gate, finish func()) {
	t.Helper()
	client, err := redisstore.Open(dbtest.PrivateRedis(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	g = &gate{open: make(chan struct{})}
	client.AddHook(g)
	s = redisstore.New(client, redisstore.Options{})
	var first sync.WaitGroup
	for range 2 {
		first.Go(func() { take(t, s, claim(policy(ratelimit.FixedWindow, 5, time.Hour), 1)) })
	}
	for g.held.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	return s, g, func() { close(g.open); first.Wait() }
}

// The server does not even know the script of those that wait: they are sent again in full.
func TestCallsThatArriveDuringARoundTripShareTheNext(t *testing.T) {
	t.Parallel()
	s, g, finish := gated(t)
	p := policy(ratelimit.TokenBucket, 20, time.Hour)
	var waiting sync.WaitGroup
	var admitted atomic.Int64
	for range 50 {
		waiting.Go(func() {
			if take(t, s, claim(p, 1)).Allowed {
				admitted.Add(1)
			}
		})
	}
	time.Sleep(50 * time.Millisecond)
	finish()
	waiting.Wait()
	if admitted.Load() != 20 {
		t.Errorf("%d admitted, want 20", admitted.Load())
	}
	if g.commands.Load() != 50 || g.pipelines.Load() > 3 {
		t.Errorf("%d commands in %d pipelines, want 50 in one or a few", g.commands.Load(), g.pipelines.Load())
	}
}

func TestACallThatIsOverBeforeItsTurnIsNotSent(t *testing.T) {
	t.Parallel()
	s, g, finish := gated(t)
	c := claim(policy(ratelimit.TokenBucket, 5, time.Hour), 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Take(ctx, one(c), make([]ratelimit.Status, 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
	finish()
	if left := peek(t, s, c).Remaining; left != 5 || g.commands.Load() != 0 {
		t.Errorf("%d left and %d commands sent after it, want 5 and 0", left, g.commands.Load())
	}
}
