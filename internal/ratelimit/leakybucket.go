package ratelimit

// Meter is a leaky bucket used as a meter: each request pours in what it costs, the bucket leaks Quota units per
// Period, and a request that would make it overflow is refused.
//
//	level
//	 10 |- - - - - - - - - - - - - -    Burst: what would rise above it is refused
//	    |      *.
//	  5 |   *--' '-.     *.             a request of cost 5 is a step up;
//	    |   |       '-.  | '-.          between steps it leaks at a constant rate
//	  0 |---'          '-'    '-----    empty: nothing leaks
//	    +---+--+---------+----+-----> time
//	        t1 t2        t3   Full
//
// It is the token bucket seen from the other side: level = Burst - tokens, and the bucket that is full of tokens is
// the one that is empty of water. The answers are the same to the microsecond, so there is one arithmetic and not
// two that could differ. (The leaky bucket as a queue, which delays instead of refusing, is something else.)
type Meter struct{ Bucket }

// Meter prepares the arithmetic of a valid limit.
func (l Limit) Meter() Meter { return Meter{l.Bucket()} }

// Level is the water in the bucket, a unit begun counting as whole.
func (m Meter) Level(s BucketState, now Instant) int64 { return m.Capacity - m.there(s, now)/m.Unit }
