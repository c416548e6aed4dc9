package ratelimit

import (
	"hash/maphash"
	"sync"
)

// limits numbers the limits under which a Memory has counted. Each cell carries the number of its own: a count cannot
// be read without its limit, and a limit may change between two requests.
//
//	take under limit 7 -> cell says 7: nothing to do, one comparison
//	                      cell says 3: adopt, that is, read it under limit 3 and write it under limit 7
//
// So a change costs nothing when it happens and one conversion for each key that comes again. Numbers are never used
// twice; they run out after 16,383 different limits, and later ones are 0 and are read as if they had not changed.
type limits struct {
	mu     sync.RWMutex
	known  []Limit // by number; 0 is none
	number map[Limit]uint64
}

const (
	limitShift = 50 // of the number in a cell; a count of units needs fewer bits (maxUnits)
	mostLimits = 1 << (64 - limitShift)
)

// numberOf returns the number of a limit.
func (l *limits) numberOf(limit Limit) uint64 {
	l.mu.RLock()
	n := l.number[limit]
	l.mu.RUnlock()
	if n != 0 {
		return n
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.number[limit]; n != 0 || len(l.known) == mostLimits {
		return n
	}
	if l.number == nil {
		l.number, l.known = map[Limit]uint64{}, []Limit{{}}
	}
	n = uint64(len(l.known))
	l.known = append(l.known, limit)
	l.number[limit] = n
	return n
}

func (l *limits) limit(n uint64) Limit {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.known[n]
}

// ruleIn is what of a rule is always the same in one Memory.
type ruleIn struct {
	memory *Memory
	limit  uint64 // its number
	name   uint64 // the hash of its policy's name
}

// in returns it. The rule keeps that of the Memory that asked last, so that the path of a request finds it at once.
func (m *Memory) in(p *Policy, r *rule) *ruleIn {
	if in := r.in.Load(); in != nil && in.memory == m {
		return in
	}
	return m.enter(p, r)
}

func (m *Memory) enter(p *Policy, r *rule) *ruleIn {
	in := &ruleIn{memory: m, limit: m.limits.numberOf(r.limit), name: maphash.String(m.seed, p.Name)}
	r.in.Store(in)
	return in
}

// limit is the number of the limit under which a cell was counted.
func (c *cell) limit() uint64 { return uint64(c.b) >> limitShift }

func (c *cell) setLimit(n uint64) { c.b = c.b&(1<<limitShift-1) | int64(n<<limitShift) }

// adopt makes of a cell counted under another limit one under the ask's.
func (m *Memory) adopt(c *cell, k *ask, now Instant) {
	if n := c.limit(); n != 0 {
		k.rule.adopt(c, m.limits.limit(n), now)
	}
	c.setLimit(k.limit)
}

// adopt makes of what was counted under another limit what counts under this one. Counts of another algorithm mean
// nothing here: the key starts afresh.
func (r *rule) adopt(c *cell, old Limit, now Instant) {
	switch {
	case old.bucket() && r.limit.bucket():
		c.setBucket(r.bucket.Adopt(c.bucket(), old.Bucket(), now))
	case old.Algorithm != r.algorithm:
		*c = cell{hash: c.hash}
	case r.algorithm == FixedWindow:
		c.setWindow(r.window.Adopt(c.window(), old.Window(), now))
	default:
		from := old.Counter()
		c.setCounter(r.counter.Adopt(c.counter(from.Period), from, now), r.counter.Period)
	}
}
