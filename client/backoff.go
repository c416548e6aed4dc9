package client

import (
	"math/rand/v2"
	"time"
)

// Backoff says how long to wait before a further try. The zero value starts at 200 ms and ends at 10 s.
type Backoff struct {
	Base time.Duration // the longest wait before the second try; it doubles with each
	Cap  time.Duration // and grows no further than this
}

// wait is the least time to let pass after so many tries, and what to add to it. Both are drawn from random, which
// returns one of 0..n-1.
//
//	nothing told    |<--- anywhere in 0..ceiling --->|                  full jitter
//	told 3 s        |......... 3 s .........|<-- anywhere in 1.5 s -->|  never earlier than told, never all at once
func (b Backoff) wait(tries int, told time.Duration, random func(n int64) int64) (least, jitter time.Duration) {
	base, limit := b.Base, b.Cap
	if base <= 0 {
		base = 200 * time.Millisecond
	}
	if limit <= 0 {
		limit = 10 * time.Second
	}
	ceiling := min(base, limit)
	for i := 1; i < tries && ceiling < limit; i++ {
		ceiling = min(2*ceiling, limit)
	}
	told = min(told, forever-limit) // so that the sum is a Duration
	least = max(told, time.Duration(random(int64(ceiling)+1)))
	if told > 0 {
		spread := min(max(told/2, base), limit)
		jitter = time.Duration(random(int64(spread) + 1))
	}
	return least, jitter
}

// uniform is one of 0..n-1.
func uniform(n int64) int64 {
	return rand.Int64N(n) //nolint:gosec // spreads waits; nothing to guess
}
