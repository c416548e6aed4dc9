package redisstore_test

import (
	"testing"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// CASES limiter 10: a key of the wrong type is the store's error, so the policy's failure mode decides: 503 or admitted,
// and no 429.
func TestAForeignValueIsLeftToTheFailMode(t *testing.T) {
	t.Parallel()
	client, s := fresh(t)
	l := &ratelimit.Limiter{Default: &ratelimit.Backend{Name: "redis", Store: s, Budget: time.Minute}}
	for mode, open := range map[ratelimit.FailMode]bool{ratelimit.FailOpen: true, ratelimit.FailClosed: false} {
		p := policy(ratelimit.TokenBucket, 5, time.Minute)
		p.OnFailure = mode
		take(t, s, claim(p, 1))
		key := client.Keys(t.Context(), "*").Val()[0]
		client.Del(t.Context(), key)
		if err := client.LPush(t.Context(), key, "not a count").Err(); err != nil {
			t.Fatal(err)
		}
		if d := l.Take(t.Context(), claim(p, 1)); d.Allowed != open || d.Unavailable == open || len(d.Violated) != 0 {
			t.Errorf("fail mode %v: %+v, want allowed %v, else unavailable, and nobody violated", mode, d, open)
		}
		client.FlushDB(t.Context())
	}
}
