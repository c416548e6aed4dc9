package ratelimit

// Bucket is the arithmetic of a token bucket: Quota tokens flow in per Period, at most Burst are kept, a request
// takes as many as it costs or is refused. Limit.Bucket makes one.
//
//	tokens
//	 10 |*--.                      .--*    full: nothing flows in
//	    |   |                   .-'
//	  5 |   *--.     .-*     .-'           a request of cost 5 is a step down;
//	    |      | .-'   |  .-'              between steps tokens flow in at a constant rate
//	  0 |      *'      *-'
//	    +---+--+-------+-------------+--> time
//	        t1 t2      t3            Full
//
// The state is not the tokens but the one instant at which the bucket is full again, if nobody takes. Taking n tokens
// moves it n tokens' time into the future; time passing needs no write at all. Nothing moves it back but Give, so a
// timestamp that comes late (from a slow goroutine, or a clock that was set back) finds the bucket emptier, never
// fuller. The zero state is full.
//
// Time is counted in ticks, so that no remainder is ever lost. With Quota/Period in lowest terms, q tokens per p µs:
//
//	a microsecond is q ticks, a token is p ticks      3 per second: µs = 3 ticks, token = 1,000,000 ticks
type Bucket struct {
	Capacity int64 // tokens in a full bucket
	Unit     int64 // ticks in which one token flows in
	Micro    int64 // ticks in a microsecond

	ticks int64 // Capacity * Unit, at most maxTicks
	fill  int64 // µs in which an empty bucket fills, rounded up
}

// BucketState is what a store keeps per key.
type BucketState struct {
	Full  Instant // first microsecond at which the bucket is full
	Early int64   // ticks by which it is full before that: 0 <= Early < Micro
}

// Bucket prepares the arithmetic of a valid limit.
func (l Limit) Bucket() Bucket {
	quota, period := reduce(l.Quota, l.Period.Microseconds())
	b := Bucket{Capacity: l.Capacity(), Unit: period, Micro: quota}
	b.ticks = b.Capacity * b.Unit
	b.fill = ceilDiv(b.ticks, b.Micro)
	return b
}

// Take charges cost tokens if they are there, and else changes nothing.
func (b Bucket) Take(s BucketState, now Instant, cost int64) (BucketState, Status) {
	var st Status
	b.take(&s, now, cost, &st)
	return s, st
}

// take is Take in place: on the path of every request nothing of size is copied.
func (b *Bucket) take(s *BucketState, now Instant, cost int64, st *Status) {
	b.peek(*s, now, cost, st)
	if !st.Allowed || cost == 0 {
		return
	}
	if s.Full <= now {
		*s = BucketState{Full: now}
	}
	// The exact full instant moves on by cost tokens; Full is that instant rounded up to a microsecond.
	ticks := cost*b.Unit - s.Early
	micros := ceilDiv(max(ticks, 0), b.Micro)
	s.Full += Instant(micros)
	s.Early = micros*b.Micro - ticks
	st.Remaining -= cost
	st.Reset = s.Full.until(now)
}

// Peek decides as Take does and charges nothing.
func (b Bucket) Peek(s BucketState, now Instant, cost int64) Status {
	var st Status
	b.peek(s, now, cost, &st)
	return st
}

func (b *Bucket) peek(s BucketState, now Instant, cost int64, st *Status) {
	there := b.there(s, now)
	*st = Status{Remaining: there / b.Unit, Reset: s.Full.until(now)}
	switch {
	case cost > b.Capacity || cost < 0:
		st.Never = true
	case cost*b.Unit <= there:
		st.Allowed = true
	default:
		// cost tokens are there from the instant at which only the rest of the bucket has still to fill.
		rest := b.ticks - cost*b.Unit
		st.Wait = (s.Full - Instant((s.Early+rest)/b.Micro)).until(now)
	}
}

// Give puts tokens back, up to a full bucket.
func (b Bucket) Give(s BucketState, now Instant, tokens int64) BucketState {
	ticks := s.Early + min(tokens, b.Capacity)*b.Unit
	s.Full -= Instant(ticks / b.Micro)
	s.Early = ticks % b.Micro
	if s.Full <= now {
		return BucketState{}
	}
	return s
}

// Adopt takes over what was counted under another limit: tokens taken stay taken, a token begun counting as whole, but
// at most those of a full bucket, so nobody waits longer than this one needs to fill.
func (b Bucket) Adopt(s BucketState, from Bucket, now Instant) BucketState {
	missing := from.ticks - from.there(s, now)
	if b.Unit != from.Unit || b.Micro != from.Micro { // a tick is another
		missing = min(ceilDiv(missing, from.Unit), b.Capacity) * b.Unit
	}
	missing = min(missing, b.ticks)
	if missing == 0 {
		return BucketState{}
	}
	micros := ceilDiv(missing, b.Micro)
	return BucketState{Full: now + Instant(micros), Early: micros*b.Micro - missing}
}

// there is what the bucket holds, in ticks.
func (b *Bucket) there(s BucketState, now Instant) int64 {
	if s.Full <= now {
		return b.ticks
	}
	gap := int64(s.Full - now)
	if gap > b.fill { // only a late timestamp sees this
		return 0
	}
	return max(b.ticks-gap*b.Micro+s.Early, 0)
}

// reduce divides both by their greatest common divisor.
func reduce(a, b int64) (int64, int64) {
	d, r := a, b
	for r != 0 {
		d, r = r, d%r
	}
	return a / d, b / d
}
