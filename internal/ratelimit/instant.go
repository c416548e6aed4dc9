package ratelimit

import "time"

// Instant is a moment on a store's clock, in microseconds since 1970 UTC: the resolution of every limit, the same in
// Go, Lua and SQL. It stays below 2^53 until the year 2255, so Lua's doubles hold it exactly.
type Instant int64

// InstantOf rounds t down to its microsecond.
func InstantOf(t time.Time) Instant { return Instant(t.UnixMicro()) }

// until is the time from now to i; 0 when i has passed.
func (i Instant) until(now Instant) time.Duration {
	return time.Duration(max(i-now, 0)) * time.Microsecond
}

// ceilDiv is a / b rounded up, for a >= 0 and b > 0.
func ceilDiv(a, b int64) int64 {
	q := a / b
	if q*b < a {
		q++
	}
	return q
}
