package pgstore_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/pgstore"
	"example.com/bankapi/internal/ratelimit/storetest"
)

var known = []ratelimit.Algorithm{
	ratelimit.TokenBucket, ratelimit.FixedWindow, ratelimit.SlidingLog, ratelimit.LeakyBucket,
}

func TestConformance(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	first, second := pool(t, url), pool(t, url)
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		clock := storetest.NewClock(time.Now())
		return storetest.Harness{
			Store:      store(first, clock),
			Second:     store(second, clock),
			Advance:    clock.Advance,
			Algorithms: known,
		}
	})
}

// On the database's own clock, as in production.
func TestConformanceOnTheDatabasesClock(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	first, second := pool(t, url), pool(t, url)
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		return storetest.Harness{Store: store(first, nil), Second: store(second, nil), Algorithms: known}
	})
}

// The functions and the pure algorithms give the same answers to the same traffic.
func TestAnswersAsMemoryDoes(t *testing.T) {
	t.Parallel()
	p := dbtest.Pool(t)
	for range 3 {
		clock := storetest.NewClock(time.UnixMicro(1_790_245_230_123_456))
		h := storetest.Harness{Store: store(p, clock), Advance: clock.Advance, Algorithms: known}
		storetest.Replay(t, h, clock.Now, 2000, rand.Uint64())
	}
}

func pool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	p, err := pgxpool.New(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func store(p *pgxpool.Pool, c *storetest.Clock) *pgstore.Store {
	s := pgstore.New(p)
	if c != nil {
		pgstore.SetClock(s, c.Now)
	}
	return s
}
