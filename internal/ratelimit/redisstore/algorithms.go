package redisstore

import "example.com/bankapi/internal/ratelimit"

// algorithm says how the script knows an algorithm, and which numbers of a limit it needs.
type algorithm struct {
	letter  string // in keys
	name    string // in lua/
	numbers func(l ratelimit.Limit, here ratelimit.Instant) (capacity, unit, micro int64)
}

var algorithms = [...]algorithm{
	ratelimit.TokenBucket:    {"b", "bucket", anywhere(bucketNumbers)},
	ratelimit.LeakyBucket:    {"m", "bucket", anywhere(bucketNumbers)},
	ratelimit.FixedWindow:    {"w", "window", windowNumbers},
	ratelimit.SlidingCounter: {"c", "counter", windowNumbers},
	ratelimit.SlidingLog:     {"l", "log", windowNumbers},
}

// anywhere is for numbers that do not depend on the time here.
func anywhere(numbers func(ratelimit.Limit) (int64, int64, int64)) func(ratelimit.Limit, ratelimit.Instant) (int64, int64, int64) {
	return func(l ratelimit.Limit, _ ratelimit.Instant) (int64, int64, int64) { return numbers(l) }
}

func bucketNumbers(l ratelimit.Limit) (capacity, unit, micro int64) {
	b := l.Bucket()
	return b.Capacity, b.Unit, b.Micro
}

// windowNumbers are the quota and the period, or two boundaries of a calendar between which the server decides.
func windowNumbers(l ratelimit.Limit, here ratelimit.Instant) (quota, first, second int64) {
	if l.Calendar != 0 {
		first, second := l.Bounds(here)
		return l.Quota, int64(first), int64(second)
	}
	return l.Quota, l.Period.Microseconds(), 0
}
