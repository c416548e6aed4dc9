package ratelimit

// This file says how each algorithm's state lies in a cell. A sliding log does not fit in one.
//
//	            until         a        b
//	bucket      Full          Early    limit's number
//	window      End           Used     limit's number
//	counter     Start+2P      Before   limit's number, Now

func (c *cell) bucket() BucketState { return BucketState{Full: c.until, Early: c.a} }
func (c *cell) window() WindowState { return WindowState{End: c.until, Used: c.a} }

func (c *cell) counter(period int64) CounterState {
	return CounterState{Start: max(c.until-2*Instant(period), 0), Before: c.a, Now: c.b & (1<<limitShift - 1)}
}

func (c *cell) setBucket(s BucketState) { c.until, c.a = s.Full, s.Early }
func (c *cell) setWindow(s WindowState) { c.until, c.a = s.End, s.Used }

func (c *cell) setCounter(s CounterState, period int64) {
	c.until, c.a = s.Start+2*Instant(period), s.Before
	c.b = c.b&^(1<<limitShift-1) | s.Now
}

// take decides on a cell and writes it only if something was charged.
func (r *rule) take(c *cell, now Instant, cost int64, st *Status) {
	switch r.algorithm {
	case FixedWindow:
		var s WindowState
		if s, *st = r.window.Take(c.window(), now, cost); st.Allowed && cost > 0 {
			c.setWindow(s)
		}
	case SlidingCounter:
		var s CounterState
		if s, *st = r.counter.Take(c.counter(r.counter.Period), now, cost); st.Allowed && cost > 0 {
			c.setCounter(s, r.counter.Period)
		}
	default:
		s := c.bucket()
		if r.bucket.take(&s, now, cost, st); st.Allowed && cost > 0 {
			c.setBucket(s)
		}
	}
}

func (r *rule) peek(c *cell, now Instant, cost int64, st *Status) {
	switch r.algorithm {
	case FixedWindow:
		*st = r.window.Peek(c.window(), now, cost)
	case SlidingCounter:
		*st = r.counter.Peek(c.counter(r.counter.Period), now, cost)
	default:
		r.bucket.peek(c.bucket(), now, cost, st)
	}
}

// give puts units back and reports whether the cell is untouched again.
func (r *rule) give(c *cell, now, taken Instant, units int64) bool {
	switch r.algorithm {
	case FixedWindow:
		s := r.window.Give(c.window(), now, taken, units)
		c.setWindow(s)
		return s.Used == 0
	case SlidingCounter:
		s := r.counter.Give(c.counter(r.counter.Period), now, taken, units)
		c.setCounter(s, r.counter.Period)
		return s.Before == 0 && s.Now == 0
	default:
		s := r.bucket.Give(c.bucket(), now, units)
		c.setBucket(s)
		return s == BucketState{}
	}
}
