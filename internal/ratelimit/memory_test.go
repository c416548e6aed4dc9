package ratelimit_test

import (
	"sync"
	"testing"
	"time"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/storetest"
)

// clock is a clock that moves only when told.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 9, 24, 10, 20, 30, 123456789, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestMemoryKeepsThePromisesOfStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness {
		c := newClock()
		return storetest.Harness{Store: ratelimit.NewMemory(ratelimit.MemoryOptions{Now: c.Now}), Advance: c.Add}
	})
}

func TestMemoryKeepsThemOnARealClock(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness {
		return storetest.Harness{Store: ratelimit.NewMemory(ratelimit.MemoryOptions{})}
	})
}
