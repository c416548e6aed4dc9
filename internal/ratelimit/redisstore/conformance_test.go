package redisstore_test

import (
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit/redisstore"
	"example.com/bankapi/internal/ratelimit/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		url := dbtest.RedisURL(t)
		clock := storetest.NewClock(time.Now())
		return storetest.Harness{
			Store:   open(t, url, clock),
			Second:  open(t, url, clock),
			Advance: clock.Advance,
		}
	})
}

// On the server's own clock, as in production.
func TestConformanceOnTheServersClock(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		url := dbtest.RedisURL(t)
		return storetest.Harness{Store: open(t, url, nil), Second: open(t, url, nil)}
	})
}

// open makes a store with a client of its own, as a second process would have.
func open(t testing.TB, url string, c *storetest.Clock) *redisstore.Store {
	t.Helper()
	client, err := redisstore.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	s := redisstore.New(client, redisstore.Options{})
	if c != nil {
		redisstore.SetClock(s, c.Now)
	}
	return s
}
