package ratelimit

import "slices"

// Log is the arithmetic of a sliding log: every admitted request is written down with its time and cost, and in no
// span of one Period do the costs exceed Quota. Limit.Log makes one.
//
//	             |<------- Period ------->|
//	--*----*-----*----*--*----------------now--> time
//	  gone gone  ^    Used = the costs of these
//	             the oldest: at oldest + Period it leaves and its units come back
//
// Exact, and the dearest: it keeps an entry for each admitted request. It is for small limits that must not be
// cheated at a boundary, like five wrong passwords in fifteen minutes.
//
// Refused requests are not written down, so hammering a full log does not prolong the wait; the wait is until enough
// of the oldest units have left. The zero state is untouched. A timestamp earlier than the newest entry is taken as
// that entry's: entries stay in order, and what left the log stays out.
type Log struct {
	Quota  int64 // units admitted in any span of one Period
	Period int64 // µs
}

// LogState is what a store keeps per key: the entries, oldest first, and the sum of their units.
type LogState struct {
	Entries []LogEntry
	Used    int64
}

// LogEntry is what was admitted at one instant.
type LogEntry struct {
	At    Instant
	Units int64
}

// Log prepares the arithmetic of a valid limit.
func (l Limit) Log() Log { return Log{Quota: l.Quota, Period: l.Period.Microseconds()} }

// Take charges cost units if they fit, and else changes nothing. Like append, it may reuse the memory of the state
// it is given, which must not be used again.
func (l Log) Take(s LogState, now Instant, cost int64) (LogState, Status) {
	st := l.Peek(s, now, cost)
	if !st.Allowed || cost == 0 {
		return s, st
	}
	at := s.clock(now)
	s = l.drop(s, at)
	if last := len(s.Entries) - 1; last >= 0 && s.Entries[last].At == at {
		s.Entries[last].Units += cost
	} else {
		s.Entries = append(s.Entries, LogEntry{At: at, Units: cost})
	}
	s.Used += cost
	st.Remaining -= cost
	st.Oldest = l.leaves(s.Entries[0]).until(now)
	st.Reset = l.leaves(s.Entries[len(s.Entries)-1]).until(now)
	return s, st
}

// Peek decides as Take does and charges nothing.
func (l Log) Peek(s LogState, now Instant, cost int64) Status {
	s = l.drop(s, s.clock(now))
	st := Status{Remaining: max(l.Quota-s.Used, 0)}
	if n := len(s.Entries); n > 0 {
		st.Oldest = l.leaves(s.Entries[0]).until(now)
		st.Reset = l.leaves(s.Entries[n-1]).until(now)
	}
	if cost > l.Quota || cost < 0 {
		st.Never = true
		return st
	}
	st.Allowed = cost <= st.Remaining
	if !st.Allowed {
		st.Wait = l.room(s, cost).until(now)
	}
	return st
}

// Give takes back units of the entry that was written at an instant, if it is still in the log.
func (l Log) Give(s LogState, now, taken Instant, units int64) LogState {
	s = l.drop(s, s.clock(now))
	i, found := slices.BinarySearchFunc(s.Entries, taken, func(e LogEntry, at Instant) int { return int(e.At - at) })
	if !found {
		return s
	}
	units = min(units, s.Entries[i].Units)
	s.Used -= units
	s.Entries[i].Units -= units
	if s.Entries[i].Units == 0 {
		s.Entries = slices.Delete(s.Entries, i, i+1)
	}
	return s
}

// clock is now, or the newest entry's time if now is late.
func (s LogState) clock(now Instant) Instant {
	if n := len(s.Entries); n > 0 {
		return max(now, s.Entries[n-1].At)
	}
	return now
}

// drop removes the entries that have left the span ending at an instant.
func (l Log) drop(s LogState, at Instant) LogState {
	for len(s.Entries) > 0 && l.leaves(s.Entries[0]) <= at {
		s.Used -= s.Entries[0].Units
		s.Entries = s.Entries[1:]
	}
	return s
}

// room is the instant at which enough of the oldest entries have left for cost to fit.
func (l Log) room(s LogState, cost int64) Instant {
	excess := s.Used + cost - l.Quota
	for _, e := range s.Entries {
		if excess -= e.Units; excess <= 0 {
			return l.leaves(e)
		}
	}
	return 0 // not reached: cost <= Quota fits an empty log
}

func (l Log) leaves(e LogEntry) Instant { return e.At + Instant(l.Period) }
