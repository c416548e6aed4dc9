package redisstore

import "example.com/bankapi/internal/ratelimit"

// algorithm says how the script knows an algorithm, and which numbers of a limit it needs.
type algorithm struct {
	letter  string // in keys
	name    string // in lua/
	numbers func(ratelimit.Limit) (capacity, unit, micro int64)
}

var algorithms = [...]algorithm{
	ratelimit.TokenBucket:    {"b", "bucket", bucketNumbers},
	ratelimit.LeakyBucket:    {"m", "bucket", bucketNumbers},
	ratelimit.FixedWindow:    {"w", "window", windowNumbers},
	ratelimit.SlidingCounter: {"c", "counter", windowNumbers},
	ratelimit.SlidingLog:     {"l", "log", windowNumbers},
}

func bucketNumbers(l ratelimit.Limit) (capacity, unit, micro int64) {
	b := l.Bucket()
	return b.Capacity, b.Unit, b.Micro
}

func windowNumbers(l ratelimit.Limit) (quota, period, none int64) {
	return l.Quota, l.Period.Microseconds(), 0
}
