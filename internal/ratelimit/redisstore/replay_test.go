package redisstore_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit/storetest"
)

// The script and the pure algorithms give the same answers to the same traffic.
func TestAnswersAsMemoryDoes(t *testing.T) {
	t.Parallel()
	for range 4 {
		clock := storetest.NewClock(time.UnixMicro(1_790_245_230_123_456))
		h := storetest.Harness{Store: open(t, dbtest.RedisURL(t), clock), Advance: clock.Advance}
		storetest.Replay(t, h, clock.Now, 5000, rand.Uint64())
	}
}
