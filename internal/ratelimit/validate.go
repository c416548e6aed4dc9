package ratelimit

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"time"
)

// Bounds within which every store counts exactly. Lua has only doubles, whole up to 2^53; a bucket's ticks get half
// of that, so that a microsecond more or less never tips them over.
const (
	maxUnits  = 999_999_999_999_999  // 15 digits, the most an integer in a RateLimit header may have
	maxTicks  = 1 << 52              // ticks in a full bucket
	maxPeriod = 366 * 24 * time.Hour // below 2^45 µs
	maxLog    = 100_000              // entries of one sliding log
)

var policyName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

// Validate returns every fault of the policy, joined, each naming its field.
func (p *Policy) Validate() error {
	faults := []error{p.Limit.Validate()}
	if !policyName.MatchString(p.Name) {
		faults = append(faults, errors.New("name: must be lower-case letters, digits and hyphens, at most 64, and begin with a letter"))
	}
	if p.OnFailure != FailOpen && p.OnFailure != FailClosed {
		faults = append(faults, errors.New("on failure: must be open or closed"))
	}
	if p.Share && p.OnFailure == FailClosed {
		faults = append(faults, errors.New("share: a policy that fails closed admits nobody while its store is away"))
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("policy %q: %w", p.Name, err)
	}
	return nil
}

// Validate returns every fault of the limit, joined, each naming its field. What it accepts, every store counts
// exactly.
func (l Limit) Validate() error {
	if l.Algorithm == Unlimited {
		if l != (Limit{Algorithm: Unlimited}) {
			return fmt.Errorf("algorithm: %v takes no numbers", Unlimited)
		}
		return nil
	}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }

	known := l.Algorithm >= TokenBucket && l.Algorithm <= LeakyBucket
	if !known {
		fault("algorithm: %v is none", l.Algorithm)
	}
	if l.Quota < 1 || l.Quota > maxUnits {
		fault("quota: must be 1 to %d, is %d", int64(maxUnits), l.Quota)
	}
	if err := l.validatePeriod(); err != nil {
		faults = append(faults, err)
	}
	if l.Burst < 0 || l.Burst > maxUnits {
		fault("burst: must be 1 to %d or left out, is %d", int64(maxUnits), l.Burst)
	}
	if known && !l.bucket() && l.Burst != 0 {
		fault("burst: a %v has none, is %d", l.Algorithm, l.Burst)
	}
	if l.Algorithm == SlidingLog && l.Quota > maxLog {
		fault("quota: a %v keeps one entry a unit, at most %d, is %d", l.Algorithm, maxLog, l.Quota)
	}
	if len(faults) == 0 && l.bucket() && !l.exact() {
		fault("quota, period, burst: %d per %v with a burst of %d cannot be counted exactly; take rounder numbers",
			l.Quota, l.Period, l.Capacity())
	}
	return errors.Join(faults...)
}

// validatePeriod returns what is wrong with Period, Calendar and Zone.
func (l Limit) validatePeriod() error {
	switch {
	case l.Calendar == 0 && l.Zone != nil:
		return fmt.Errorf("zone: only days and months have one, is %v", l.Zone)
	case l.Calendar == 0:
		if l.Period < time.Microsecond || l.Period > maxPeriod || l.Period%time.Microsecond != 0 {
			return fmt.Errorf("period: must be whole microseconds from 1µs to %v, is %v", maxPeriod, l.Period)
		}
	case l.Calendar > Month:
		return fmt.Errorf("calendar: must be a day or a month, is %v", l.Calendar)
	case l.Algorithm != FixedWindow:
		return fmt.Errorf("calendar: only a %v follows it", FixedWindow)
	case l.Period != 0:
		return fmt.Errorf("period: a calendar %v has its own, is %v", l.Calendar, l.Period)
	}
	return nil
}

// exact reports whether a bucket's ticks stay below maxTicks.
func (l Limit) exact() bool {
	quota, period := reduce(l.Quota, l.Period.Microseconds())
	hi, ticks := bits.Mul64(uint64(l.Capacity()), uint64(period))
	return hi == 0 && ticks+uint64(quota) <= maxTicks
}
