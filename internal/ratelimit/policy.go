package ratelimit

import "time"

// Algorithm names how a policy counts. The zero value is not an algorithm.
type Algorithm uint8

// The algorithms, one file each.
const (
	TokenBucket Algorithm = iota + 1
	FixedWindow
	SlidingLog
	SlidingCounter
	LeakyBucket
)

// Limit is the arithmetic of one policy: Quota units per Period, and for buckets a Burst.
type Limit struct {
	Algorithm Algorithm
	Quota     int64         // units regained (bucket) or admitted (window) per Period, at least 1
	Period    time.Duration // whole microseconds, at least 1 µs
	Burst     int64         // bucket capacity in units; 0 means Quota; windows take no Burst
}

// FailMode is what a policy answers when its store cannot.
type FailMode uint8

// What to do when the store cannot answer. The zero value is not a choice: every policy writes one down.
const (
	FailOpen   FailMode = iota + 1 // admit, and count it
	FailClosed                     // refuse with 503, never 429
)

// Policy is one named limit. It is immutable once compiled and shared between goroutines.
type Policy struct {
	Name      string // [a-z][a-z0-9-]*, as it stands in the RateLimit header
	Limit     Limit
	OnFailure FailMode
}
