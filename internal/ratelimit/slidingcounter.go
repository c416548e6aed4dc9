package ratelimit

import (
	"math/bits"
	"time"
)

// Counter is the arithmetic of a sliding counter: two fixed windows, of which the one before counts in proportion to
// how much of it the sliding span still covers. Limit.Counter makes one.
//
//	 window before    current window
//	|   Before = 10  |  Now = 3       |
//	+----------------+-----------+----+--> time
//	           |<-- one Period -->|
//	           |<---->|           now
//	           covered: 40 % of the window before counts 40 % of its units
//
//	used = ceil(Before * covered / Period) + Now,  admitted when used + cost <= Quota
//
// It estimates: it takes the window before as evenly spread. It needs two numbers whatever the Quota, and the estimate
// is rounded up, so it never says less than it knows. Products are 128 bits wide: no quota and no period overflow.
//
// The zero state is untouched. A timestamp before the current window counts at its start.
type Counter struct {
	Quota  int64 // units admitted in a span of one Period, estimated
	Period int64 // µs
}

// CounterState is what a store keeps per key.
type CounterState struct {
	Start  Instant // of the current window
	Before int64   // units admitted in the window before
	Now    int64   // units admitted in the current window
}

// Counter prepares the arithmetic of a valid limit.
func (l Limit) Counter() Counter { return Counter{Quota: l.Quota, Period: l.Period.Microseconds()} }

// Take charges cost units if they fit, and else changes nothing.
func (c Counter) Take(s CounterState, now Instant, cost int64) (CounterState, Status) {
	st := c.Peek(s, now, cost)
	if !st.Allowed || cost == 0 {
		return s, st
	}
	s = c.current(s, now)
	s.Now += cost
	st.Remaining -= cost
	st.Oldest, st.Reset = c.ages(s, now)
	return s, st
}

// Peek decides as Take does and charges nothing.
func (c Counter) Peek(s CounterState, now Instant, cost int64) Status {
	s = c.current(s, now)
	st := Status{Remaining: max(c.Quota-s.Now-c.covered(s, now), 0)}
	st.Oldest, st.Reset = c.ages(s, now)
	if cost > c.Quota || cost < 0 {
		st.Never = true
		return st
	}
	st.Allowed = cost <= st.Remaining
	if !st.Allowed {
		st.Wait = c.room(s, cost).until(now)
	}
	return st
}

// Give takes back units from the window in which they were taken, while it counts.
func (c Counter) Give(s CounterState, now, taken Instant, units int64) CounterState {
	s = c.current(s, now)
	switch {
	case taken >= s.Start:
		s.Now -= min(units, s.Now)
	case taken >= s.Start-Instant(c.Period):
		s.Before -= min(units, s.Before)
	}
	return s
}

// Adopt takes over what was counted under another limit: units taken stay taken, at most a quota of them. Under another
// Period they are all taken as of now.
func (c Counter) Adopt(s CounterState, from Counter, now Instant) CounterState {
	s = from.current(s, now)
	if from.Period != c.Period {
		s = CounterState{Start: now - now%Instant(c.Period), Now: s.Before + s.Now}
	}
	s.Now, s.Before = min(s.Now, c.Quota), min(s.Before, c.Quota)
	return s
}

// current moves the state on to the window that now falls in.
func (c Counter) current(s CounterState, now Instant) CounterState {
	next := s.Start + Instant(c.Period)
	switch {
	case now < next:
		return s
	case now < next+Instant(c.Period):
		return CounterState{Start: next, Before: s.Now}
	}
	return CounterState{Start: now - now%Instant(c.Period)}
}

// covered is what the window before counts, rounded up.
func (c Counter) covered(s CounterState, now Instant) int64 {
	left := c.Period - int64(max(now-s.Start, 0))
	q, r := mulDiv(s.Before, left, c.Period)
	if r > 0 {
		q++
	}
	return q
}

// room is the instant from which cost fits. Either it fits in this window, once enough of the window before has
// slid out; or it waits for the next one, in which the units of this window slide out.
func (c Counter) room(s CounterState, cost int64) Instant {
	free := c.Quota - cost - s.Now
	if free < 0 {
		s = CounterState{Start: s.Start + Instant(c.Period), Before: s.Now}
		free = c.Quota - cost
	}
	// Before * covered / Period <= free  <=>  covered <= free * Period / Before
	covered, _ := mulDiv(free, c.Period, s.Before)
	return s.Start + Instant(c.Period-covered)
}

// ages are the times until the oldest and the newest counted units are gone.
func (c Counter) ages(s CounterState, now Instant) (oldest, newest time.Duration) {
	before := (s.Start + Instant(c.Period)).until(now)
	current := (s.Start + 2*Instant(c.Period)).until(now)
	switch {
	case s.Before > 0 && s.Now > 0:
		return before, current
	case s.Before > 0:
		return before, before
	case s.Now > 0:
		return current, current
	}
	return 0, 0
}

// mulDiv is a * b / m and the remainder, without overflow, for a, b >= 0, m > 0 and a quotient that fits.
func mulDiv(a, b, m int64) (quotient, remainder int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	q, r := bits.Div64(hi, lo, uint64(m))
	return int64(q), int64(r)
}
