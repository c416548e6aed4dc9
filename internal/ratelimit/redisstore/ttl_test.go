package redisstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/redisstore"
)

var algorithms = []ratelimit.Algorithm{
	ratelimit.TokenBucket, ratelimit.FixedWindow, ratelimit.SlidingLog, ratelimit.SlidingCounter, ratelimit.LeakyBucket,
}

func TestNoKeyIsEverWithoutAnEnd(t *testing.T) {
	t.Parallel()
	client, s := fresh(t)
	for _, a := range algorithms {
		c := claim(policy(a, 5, time.Minute), 2)
		c.ID = "reservation"
		steps := []func() error{
			func() error { return s.Take(t.Context(), one(c), make([]ratelimit.Status, 1)) },
			func() error { return s.Take(t.Context(), one(claim(c.Policy, 1)), make([]ratelimit.Status, 1)) },
			func() error { return s.Take(t.Context(), one(claim(c.Policy, 4)), make([]ratelimit.Status, 1)) }, // refused
			func() error { return s.Take(t.Context(), one(claim(c.Policy, 9)), make([]ratelimit.Status, 1)) }, // never
			func() error { return s.Peek(t.Context(), one(c), make([]ratelimit.Status, 1)) },
			func() error { return s.Give(t.Context(), one(c)) },
			func() error { return s.Give(t.Context(), one(c)) },
			func() error { return s.Reset(t.Context(), one(c)) },
			func() error { return s.Give(t.Context(), one(c)) },
			func() error { return s.Peek(t.Context(), one(c), make([]ratelimit.Status, 1)) },
		}
		for i, step := range steps {
			if err := step(); err != nil {
				t.Fatalf("%v, step %d: %v", a, i, err)
			}
			for _, key := range client.Keys(t.Context(), "*").Val() {
				if ttl := client.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > 2*time.Minute+10*time.Millisecond {
					t.Errorf("%v, step %d: key %q has the TTL %v", a, i, key, ttl)
				}
			}
		}
		if keys := client.Keys(t.Context(), "*").Val(); len(keys) != 0 {
			t.Errorf("%v: after a reset there are keys %q", a, keys)
		}
	}
}

// The key lives until the count no longer matters, to the millisecond above it.
func TestTheEndCoversTheCount(t *testing.T) {
	t.Parallel()
	client, s := fresh(t)
	for _, a := range algorithms {
		c := claim(policy(a, 19, 10*time.Second), 1) // a token comes back each 526,315.79 µs
		st := take(t, s, c)
		key := client.Keys(t.Context(), "*").Val()[0]
		// Asked now, after the answer: never less than what is left, and only a command's time more.
		if ttl := client.PTTL(t.Context(), key).Val(); ttl > st.Reset+2*time.Millisecond || ttl < st.Reset-time.Second {
			t.Errorf("%v: TTL %v for a count that matters for %v", a, ttl, st.Reset)
		}
		if err := client.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// G15: a hit in a window does not renew the window.
func TestHitsDoNotRenewAWindow(t *testing.T) {
	t.Parallel()
	client, s := fresh(t)
	c := claim(policy(ratelimit.FixedWindow, 1000, time.Hour), 1)
	take(t, s, c)
	key := client.Keys(t.Context(), "*").Val()[0]
	first := client.PExpireTime(t.Context(), key).Val()
	for range 100 {
		take(t, s, c)
	}
	if last := client.PExpireTime(t.Context(), key).Val(); last != first {
		t.Errorf("the window's key ends at %v, then at %v", first, last)
	}
}

func TestAKeyThatLostItsEndHealsAtTheNextCheck(t *testing.T) {
	t.Parallel()
	client, s := fresh(t)
	for _, a := range algorithms {
		c := claim(policy(a, 5, time.Minute), 5)
		take(t, s, c)
		key := client.Keys(t.Context(), "*").Val()[0]
		for name, check := range map[string]func() ratelimit.Status{
			"refused take": func() ratelimit.Status { return take(t, s, c) },
			"peek":         func() ratelimit.Status { return peek(t, s, c) },
			"cost 0":       func() ratelimit.Status { return take(t, s, claim(c.Policy, 0)) },
		} {
			if !client.Persist(t.Context(), key).Val() {
				t.Fatalf("%v: %s: the key has no TTL to lose", a, name)
			}
			st := check()
			if ttl := client.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > st.Reset+2*time.Millisecond {
				t.Errorf("%v: after a %s the TTL is %v, want about %v", a, name, ttl, st.Reset)
			}
		}
		if err := client.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAForeignValueIsAnErrorAndNoRefusal(t *testing.T) {
	t.Parallel()
	client, s := fresh(t)
	foreign := map[string]func(key string) error{
		"hash":      func(key string) error { return client.HSet(t.Context(), key, "a", 1).Err() },
		"list":      func(key string) error { return client.LPush(t.Context(), key, 1).Err() },
		"text":      func(key string) error { return client.Set(t.Context(), key, "not a count", time.Minute).Err() },
		"one digit": func(key string) error { return client.Set(t.Context(), key, "9999999999999999", time.Minute).Err() },
	}
	for _, a := range algorithms {
		good, bad := claim(policy(a, 5, time.Minute), 1), claim(policy(a, 5, time.Minute), 1)
		good.Key.Part, bad.Key.Part = "good", "bad"
		for name, put := range foreign {
			take(t, s, bad)
			key := client.Keys(t.Context(), "*").Val()[0]
			client.Del(t.Context(), key)
			if err := put(key); err != nil {
				t.Fatal(err)
			}
			out := make([]ratelimit.Status, 2)
			if err := s.Take(t.Context(), []ratelimit.Claim{good, bad}, out); err == nil {
				t.Errorf("%v: a %s: got %+v and no error", a, name, out)
			}
			if st := peek(t, s, good); st.Remaining != 5 {
				t.Errorf("%v: a %s: the other claim was charged: %+v", a, name, st)
			}
			client.FlushDB(t.Context())
		}
	}
}

func fresh(t testing.TB) (*redis.Client, *redisstore.Store) {
	t.Helper()
	client := dbtest.Redis(t)
	return client, redisstore.New(client, redisstore.Options{})
}

func policy(a ratelimit.Algorithm, quota int64, period time.Duration) *ratelimit.Policy {
	limit := ratelimit.Limit{Algorithm: a, Quota: quota, Period: period}
	return &ratelimit.Policy{Name: strings.ReplaceAll(a.String(), "_", "-"), Limit: limit, OnFailure: ratelimit.FailOpen}
}

func claim(p *ratelimit.Policy, cost int64) ratelimit.Claim {
	return ratelimit.Claim{Policy: p, Key: ratelimit.Key{Owner: "ada"}, Cost: cost}
}

func one(c ratelimit.Claim) []ratelimit.Claim { return []ratelimit.Claim{c} }

func take(t testing.TB, s ratelimit.Store, c ratelimit.Claim) ratelimit.Status {
	t.Helper()
	out := make([]ratelimit.Status, 1)
	if err := s.Take(t.Context(), one(c), out); err != nil {
		t.Fatal(err)
	}
	return out[0]
}

func peek(t testing.TB, s ratelimit.Store, c ratelimit.Claim) ratelimit.Status {
	t.Helper()
	out := make([]ratelimit.Status, 1)
	if err := s.Peek(t.Context(), one(c), out); err != nil {
		t.Fatal(fmt.Errorf("peek: %w", err))
	}
	return out[0]
}
