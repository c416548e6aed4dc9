package ratelimit

import (
	"fmt"
	"time"
)

// Algorithm names how a policy counts. The zero value is not an algorithm.
type Algorithm uint8

// The algorithms, one file each.
const (
	TokenBucket Algorithm = iota + 1
	FixedWindow
	SlidingLog
	SlidingCounter
	LeakyBucket

	// Unlimited counts nothing and admits everything: a policy that is off says so. It takes no numbers.
	Unlimited
)

var algorithmNames = [...]string{"", "token-bucket", "fixed-window", "sliding-log", "sliding-counter", "leaky-bucket", "unlimited"}

// String returns the name as it stands in a policy file and in GET /limits: "token-bucket".
func (a Algorithm) String() string {
	if a == 0 || int(a) >= len(algorithmNames) {
		return fmt.Sprintf("algorithm(%d)", uint8(a))
	}
	return algorithmNames[a]
}

// Limit is the arithmetic of one policy: Quota units per Period, and for buckets a Burst. A fixed window may follow the
// calendar instead of a Period.
type Limit struct {
	Algorithm Algorithm
	Quota     int64         // units regained (bucket) or admitted (window) per Period, at least 1
	Period    time.Duration // whole microseconds, at least 1 µs
	Burst     int64         // bucket capacity in units; 0 means Quota; windows take no Burst

	Calendar Calendar       // fixed window: Day or Month; Period is then left out
	Zone     *time.Location // of the Calendar; nil: UTC
}

// Capacity is the most that can ever be admitted at once. A cost above it is never admitted.
func (l Limit) Capacity() int64 {
	if l.Algorithm == Unlimited {
		return maxUnits
	}
	if l.bucket() && l.Burst != 0 {
		return l.Burst
	}
	return l.Quota
}

func (l Limit) bucket() bool { return l.Algorithm == TokenBucket || l.Algorithm == LeakyBucket }

// FailMode is what a policy answers when its store cannot.
type FailMode uint8

// What to do when the store cannot answer. The zero value is not a choice: every policy writes one down.
const (
	FailOpen   FailMode = iota + 1 // admit, and count it
	FailClosed                     // refuse with 503, never 429
)

// Policy is one named limit. It is immutable and shared between goroutines.
//
// A literal works everywhere. NewPolicy checks it once and prepares its arithmetic, which a literal pays for at
// each decision.
type Policy struct {
	Name      string // [a-z][a-z0-9-]*, as it stands in the RateLimit header
	Limit     Limit
	OnFailure FailMode

	// Private keeps what is left out of the headers of admitted requests: a counter of an account that the caller
	// has not proved to own would let strangers read its traffic.
	Private bool

	// Shadow counts and tells the Observer what would be refused, and refuses nobody: a policy on trial. It is not in the
	// headers, and costs a round trip of its own.
	Shadow bool

	// Share has a policy that fails open counted in Limiter.Local while its store is away, against this process's share
	// of the limit, instead of admitting everybody.
	Share bool

	rule *rule // nil in a literal
}
