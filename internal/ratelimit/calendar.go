package ratelimit

import (
	"fmt"
	"time"
)

// Calendar is a window cut by the calendar of a time zone instead of by a Period. The zero value is none.
//
//	Europe/Berlin  |    28 March    |   29 March    |    30 March    |
//	               |      24 h      |     23 h      |      24 h      |
//
// A window begins at the first instant whose date is its day's (month's) or a later one, and ends where the next one
// begins. So there is one for every instant and they do not overlap, also where midnight itself is skipped, happens
// twice, or a whole day is left out.
type Calendar uint8

// The windows of the calendar.
const (
	Day Calendar = iota + 1
	Month
)

// String returns the name: "day".
func (c Calendar) String() string {
	switch c {
	case Day:
		return "day"
	case Month:
		return "month"
	}
	return fmt.Sprintf("calendar(%d)", uint8(c))
}

// end is the first instant after the window that now falls in.
func (c Calendar) end(now Instant, zone *time.Location) Instant {
	t := time.UnixMicro(int64(now)).In(zone)
	window := c.of(t)
	begun, ends := t.ZoneBounds()
	if !begun.IsZero() { // where the clock was set back over midnight, the later date holds
		window = max(window, c.of(begun.Add(-1)))
	}
	for {
		// Until its offset from UTC changes, a zone is as simple as UTC.
		next := c.start(window+1, t)
		if ends.IsZero() || next.Before(ends) {
			return InstantOf(next)
		}
		if t = ends; c.of(t) > window {
			return InstantOf(t)
		}
		_, ends = t.ZoneBounds()
	}
}

// of numbers the window of t's date; the next window has the next number.
func (c Calendar) of(t time.Time) int64 {
	year, month, day := t.Date()
	if c == Month {
		return int64(year)*12 + int64(month) - 1
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / secondsADay
}

// start is the first midnight of a window by the offset from UTC that holds at t.
func (c Calendar) start(window int64, t time.Time) time.Time {
	midnight := time.Unix(window*secondsADay, 0)
	if c == Month {
		midnight = time.Date(int(window/12), time.Month(window%12)+1, 1, 0, 0, 0, 0, time.UTC)
	}
	_, offset := t.Zone()
	return midnight.Add(-time.Duration(offset) * time.Second)
}

const secondsADay = 24 * 60 * 60

// nominal is the length of a window in most cases; the longest, for months.
func (c Calendar) nominal() time.Duration {
	if c == Month {
		return 31 * 24 * time.Hour
	}
	return 24 * time.Hour
}

// Length is how long a window or period is: Period, or of a calendar window 24 hours or 31 days, whatever the one at
// hand has.
func (l Limit) Length() time.Duration {
	if l.Calendar != 0 {
		return l.Calendar.nominal()
	}
	return l.Period
}

// zone is where the calendar hangs.
func (l Limit) zone() *time.Location {
	if l.Zone == nil {
		return time.UTC
	}
	return l.Zone
}

// Bounds returns the boundary of calendar windows that is nearest to now, past or ahead, and the one after it. They are
// for stores that know no time zones and have a clock of their own: a window ends at the first of them that is ahead on
// the store's clock.
//
//	|first      now  |second            now in the first half of a window
//	|           now  |first          |second       ... and in the second half
//
// So it is the store's clock that says which window it is, to the microsecond, and processes whose clocks differ agree
// on it. Only a clock more than half a window off finds both bounds past. The store must answer that with an error: a
// window that has ended would be a fresh one for each request.
func (l Limit) Bounds(now Instant) (first, second Instant) {
	if l.Calendar == 0 {
		return 0, 0
	}
	half := Instant(l.Calendar.nominal().Microseconds() / 2)
	first = l.Calendar.end(now-half, l.zone())
	return first, l.Calendar.end(first, l.zone())
}
