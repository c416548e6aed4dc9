package ratelimit

import "time"

// Window is the arithmetic of a fixed window: time is cut into windows of one Period, counted from 1970 UTC, or into the
// days or months of a time zone (calendar.go), and each admits Quota units. Limit.Window makes one.
//
//	units
//	 3 |      * *  |* *        |
//	   |    *      |           |    Quota 3
//	   |  *        |    *      |    each window starts again at 0
//	 0 +-----------+-----------+--> time
//	   ^           ^           ^
//	   start       End = start of the next
//
// Simple, cheap, easy to explain ("a thousand a day") and twice too generous at a boundary: Quota units at the end of
// one window and Quota at the start of the next are all admitted.
//
// The state is the window's End and what was used of it. A window that has ended is as good as none, so the zero
// state is untouched. A timestamp before the current window counts in the current one: it finds no fresh quota.
type Window struct {
	Quota  int64 // units admitted in a window
	Period int64 // µs; 0 where the calendar cuts

	calendar Calendar
	zone     *time.Location
}

// WindowState is what a store keeps per key.
type WindowState struct {
	End  Instant // first microsecond after the window
	Used int64
}

// Window prepares the arithmetic of a valid limit.
func (l Limit) Window() Window {
	return Window{Quota: l.Quota, Period: l.Period.Microseconds(), calendar: l.Calendar, zone: l.zone()}
}

// Take charges cost units if the window has them, and else changes nothing.
func (w Window) Take(s WindowState, now Instant, cost int64) (WindowState, Status) {
	st := w.Peek(s, now, cost)
	if !st.Allowed || cost == 0 {
		return s, st
	}
	s = w.current(s, now)
	s.Used += cost
	st.Remaining -= cost
	st.Reset = s.End.until(now)
	return s, st
}

// Peek decides as Take does and charges nothing.
func (w Window) Peek(s WindowState, now Instant, cost int64) Status {
	s = w.current(s, now)
	st := Status{Remaining: max(w.Quota-s.Used, 0), Oldest: s.End.until(now)}
	if s.Used > 0 {
		st.Reset = st.Oldest
	}
	if cost > w.Quota || cost < 0 {
		st.Never = true
		return st
	}
	st.Allowed = cost <= st.Remaining
	if !st.Allowed {
		st.Wait = st.Oldest
	}
	return st
}

// Give puts back units that were taken at an instant, if that was in the current window.
func (w Window) Give(s WindowState, now, taken Instant, units int64) WindowState {
	if s.End <= now || w.end(taken) != s.End {
		return s
	}
	s.Used -= min(units, s.Used)
	return s
}

// Adopt takes over what was counted under another limit: units taken stay taken, at most a quota of them, until their
// window ends or this one would.
func (w Window) Adopt(s WindowState, from Window, now Instant) WindowState {
	if s.End <= now {
		return WindowState{}
	}
	s.Used = min(s.Used, w.Quota)
	if from.Period != w.Period || from.calendar != w.calendar || from.zone != w.zone {
		s.End = min(s.End, w.end(now))
	}
	return s
}

// current is the window that now falls in, or a later one that was already counted in.
func (w Window) current(s WindowState, now Instant) WindowState {
	if now < s.End {
		return s
	}
	return WindowState{End: w.end(now)}
}

// end is the first microsecond after the window that now falls in.
func (w Window) end(now Instant) Instant {
	if w.calendar != 0 {
		return w.calendar.end(now, w.zone)
	}
	return now - now%Instant(w.Period) + Instant(w.Period)
}
