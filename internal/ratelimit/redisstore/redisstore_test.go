package redisstore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/redisstore"
	"example.com/bankapi/internal/ratelimit/storetest"
)

func TestTheScriptIsSentAgainWhereItIsUnknown(t *testing.T) {
	t.Parallel()
	client, err := redisstore.Open(dbtest.PrivateRedis(t).URL()) // the scripts of a server are everybody's
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s := redisstore.New(client, redisstore.Options{})
	c := claim(policy(ratelimit.TokenBucket, 5, time.Minute), 1)
	for want := int64(4); want >= 2; want-- {
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if st := take(t, s, c); st.Remaining != want {
			t.Errorf("after SCRIPT FLUSH: %d left, want %d", st.Remaining, want)
		}
	}
}

func TestAllClaimsCostOneRoundTrip(t *testing.T) {
	t.Parallel()
	client, s := fresh(t)
	commands := &counter{}
	client.AddHook(commands)
	a, b := claim(policy(ratelimit.TokenBucket, 50, time.Minute), 1), claim(policy(ratelimit.SlidingLog, 50, time.Minute), 1)
	a.ID, b.ID = "r", "r"
	claims := []ratelimit.Claim{a, b, claim(policy(ratelimit.FixedWindow, 50, time.Minute), 1), a}
	take(t, s, a) // the server knows the script from now on
	for name, call := range map[string]func() error{
		"Take": func() error { return s.Take(t.Context(), claims, make([]ratelimit.Status, 4)) },
		"Peek": func() error { return s.Peek(t.Context(), claims, make([]ratelimit.Status, 4)) },
		"Give": func() error { return s.Give(t.Context(), claims) },
	} {
		commands.n.Store(0)
		if err := call(); err != nil {
			t.Fatal(err)
		}
		if n := commands.n.Load(); n != 1 {
			t.Errorf("%s sent %d commands, want 1", name, n)
		}
	}
}

// Case 14: what was consumed is kept, clamped to the new capacity; nobody waits longer than the new limit needs.
func TestWhenALimitChanges(t *testing.T) {
	t.Parallel()
	storetest.Changes(t, func(t *testing.T) storetest.Harness {
		clock := storetest.NewClock(time.UnixMicro(1_790_245_230_000_000))
		return storetest.Harness{Store: open(t, dbtest.RedisURL(t), clock), Advance: clock.Advance}
	})
}

func bucket(quota int64, period time.Duration, burst int64) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.TokenBucket, Quota: quota, Period: period, Burst: burst}
}

// G13: 20 capacity, 100 a minute. What two processes believe of the time does not matter: the server's clock counts.
func TestTwoProcessesShareABucket(t *testing.T) {
	t.Parallel()
	url := dbtest.RedisURL(t)
	p := &ratelimit.Policy{Name: "shared", Limit: bucket(100, time.Minute, 20), OnFailure: ratelimit.FailOpen}
	var admitted atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for range 2 {
		s := open(t, url, nil)
		all.Go(func() {
			for time.Since(start) < 1500*time.Millisecond {
				if take(t, s, claim(p, 1)).Allowed {
					admitted.Add(1)
				}
			}
		})
	}
	all.Wait()
	most := 20 + int64(time.Since(start)/(600*time.Millisecond))
	if n := admitted.Load(); n < 22 || n > most {
		t.Errorf("%d admitted, want 22 to %d", n, most)
	}
}

// G14: refused requests do not count, and the wait is until the oldest admitted one leaves.
func TestHammeringAFullLogDoesNotProlongTheWait(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock(time.UnixMicro(1_790_245_230_000_000))
	s := open(t, dbtest.RedisURL(t), clock)
	c := claim(policy(ratelimit.SlidingLog, 3, 10*time.Second), 1)
	for range 3 {
		take(t, s, c)
		clock.Advance(time.Second)
	}
	for left := 7 * time.Second; left > 0; left -= time.Second {
		for range 20 {
			if st := take(t, s, c); st.Allowed || st.Wait != left {
				t.Fatalf("got %+v, want refused for %v", st, left)
			}
		}
		clock.Advance(time.Second)
	}
	if st := take(t, s, c); !st.Allowed {
		t.Errorf("when the oldest has left: got %+v, want admitted", st)
	}
}

func TestACheckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server := dbtest.PrivateRedis(t)
	s := open(t, server.URL(), nil)
	c := claim(policy(ratelimit.TokenBucket, 5, time.Minute), 1)
	take(t, s, c)
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if err := s.Take(ctx, one(c), make([]ratelimit.Status, 1)); err == nil {
		t.Error("a frozen server: got no error")
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("a check of 50ms took %v", took)
	}
	server.Resume()
	if st := peek(t, s, c); st.Remaining < 3 {
		t.Errorf("after the freeze: %d left, want 4, or 3 where the server had the claim already", st.Remaining)
	}
}

func TestAStoreThatIsDownIsAnError(t *testing.T) {
	t.Parallel()
	s := open(t, "redis://127.0.0.1:1", nil)
	c := claim(policy(ratelimit.TokenBucket, 5, time.Minute), 1)
	c.ID = "r"
	for name, err := range map[string]error{
		"Take":  s.Take(t.Context(), one(c), make([]ratelimit.Status, 1)),
		"Peek":  s.Peek(t.Context(), one(c), make([]ratelimit.Status, 1)),
		"Give":  s.Give(t.Context(), one(c)),
		"Reset": s.Reset(t.Context(), one(c)),
	} {
		if err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestAClusterTakesOneOwnerACall(t *testing.T) {
	t.Parallel()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	t.Cleanup(func() { _ = client.Close() })
	s := redisstore.New(client, redisstore.Options{})
	a, b := claim(policy(ratelimit.TokenBucket, 5, time.Minute), 1), claim(policy(ratelimit.TokenBucket, 5, time.Minute), 1)
	b.Key.Owner = "grace"
	err := s.Take(t.Context(), []ratelimit.Claim{a, b}, make([]ratelimit.Status, 2))
	if !errors.Is(err, redisstore.ErrOwners) {
		t.Errorf("got %v, want ErrOwners", err)
	}
}

// counter counts commands.
type counter struct{ n atomic.Int64 }

func (c *counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
