package redisstore

import (
	"strconv"

	"example.com/bankapi/internal/ratelimit"
)

// onlyBuckets reports whether buckets.lua can take the batch.
func (b *batch) onlyBuckets() bool {
	for i := range b.sums {
		to := &b.sums[i]
		bucket := to.limit.Algorithm == ratelimit.TokenBucket || to.limit.Algorithm == ratelimit.LeakyBucket
		if !bucket || to.cost == 0 || to.cost > to.limit.Capacity() || len(to.reserves) > 0 {
			return false
		}
	}
	return true
}

// bucketArguments are KEYS and ARGV of buckets.lua.
func (b *batch) bucketArguments(clock any) (keys []string, args []any) {
	keys = make([]string, len(b.sums))
	args = make([]any, 0, 1+2*len(b.sums))
	args = append(args, clock)
	for i := range b.sums {
		to := &b.sums[i]
		capacity, unit, micro := bucketNumbers(to.limit)
		keys[i] = to.key
		args = append(args, to.cost, limitText(capacity, unit, micro))
	}
	return keys, args
}

// limitText is a limit as it stands beside its count.
func limitText(capacity, unit, micro int64) string {
	var buf [64]byte
	text := strconv.AppendInt(buf[:0], capacity, 10)
	text = strconv.AppendInt(append(text, ' '), unit, 10)
	return string(strconv.AppendInt(append(text, ' '), micro, 10))
}

// bucketStatuses reads the answer of buckets.lua: whether all was charged, the time, and the state of each bucket.
func (b *batch) bucketStatuses(answer []int64) error {
	if len(answer) != 2+2*len(b.sums) {
		return errAnswer
	}
	charged, now := answer[0] == 1, ratelimit.Instant(answer[1])
	for i := range b.sums {
		to, cost := &b.sums[i], int64(0)
		if !charged {
			cost = to.cost
		}
		state := ratelimit.BucketState{Full: ratelimit.Instant(answer[2+2*i]), Early: answer[3+2*i]}
		to.status = to.limit.Bucket().Peek(state, now, cost)
	}
	return nil
}
