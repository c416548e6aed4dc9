package ratelimit

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"
)

// Memory keeps the counts in this process, for all algorithms.
//
//	claims -> hash with this process's secret seed -> the shards concerned, locked in order
//	       -> decide all -> if all are allowed, charge all -> unlock
//
// It holds at most MaxKeys keys. Only an untouched key is ever dropped (a full bucket, a window that is over), so no
// flood of new keys can make it forget a caller it refuses. When there is no room, the new keys of a shard share one
// overflow count per policy: strangers crowd each other out, never those already known.
//
// A key is its 64-bit hash; two of a million keys share a count with a probability of one in 40 million, and the seed
// is random, so nobody can look for two that do.
type Memory struct {
	now   func() time.Time
	real  bool // now is the system's clock
	start time.Time
	begun Instant      // start
	ahead atomic.Int64 // µs by which the wall clock has run ahead of the monotonic one since start
	seed  maphash.Seed

	limits limits
	shards [shardCount]shard
}

var _ Store = (*Memory)(nil)

const shardCount = 64 // as many as a word has bits: see lock

// MemoryOptions are all optional.
type MemoryOptions struct {
	Now     func() time.Time // the clock, for tests; the system's
	MaxKeys int              // 1,000,000: some 70 MB, used only when so many keys are
}

// NewMemory returns an empty store.
func NewMemory(o MemoryOptions) *Memory {
	if o.MaxKeys == 0 {
		o.MaxKeys = 1_000_000
	}
	m := &Memory{now: o.Now, real: o.Now == nil, seed: maphash.MakeSeed()}
	if m.real {
		m.now = time.Now
	}
	m.start = m.now()
	m.begun = InstantOf(m.start)
	for i := range m.shards {
		m.shards[i].most = max(1, o.MaxKeys/shardCount)
	}
	return m
}

// Take implements Store. It never fails for valid claims, whatever the contention, and allocates nothing for keys it
// has seen.
func (m *Memory) Take(_ context.Context, claims []Claim, out []Status) error {
	if err := CheckClaims(claims, out); err != nil {
		return err
	}
	if len(claims) == 1 {
		m.takeOne(&claims[0], &out[0])
		return nil
	}
	var buf [8]ask
	asks, shards := m.asks(buf[:0], claims)
	now := m.clock()
	m.lock(shards)
	defer m.unlock(shards)
	if m.decide(asks, now, out) {
		m.charge(asks, claims, now, out)
	}
	return nil
}

// takeOne is Take for a single claim, which most are: one lock, one look-up.
func (m *Memory) takeOne(c *Claim, st *Status) {
	var k ask
	m.ready(&k, c)
	s := m.shard(k.hash)
	now := m.clock()
	s.mu.Lock()
	s.settle(m, &k, now)
	s.take(m, &k, now, st)
	if c.ID != "" && st.Allowed {
		s.hold(&k, m.reservation(&k, c.ID), c.Cost, now)
	}
	s.mu.Unlock()
}

// Peek implements Store.
func (m *Memory) Peek(_ context.Context, claims []Claim, out []Status) error {
	if err := CheckClaims(claims, out); err != nil {
		return err
	}
	var buf [8]ask
	asks, shards := m.asks(buf[:0], claims)
	now := m.clock()
	m.lock(shards)
	defer m.unlock(shards)
	m.decide(asks, now, out)
	return nil
}

// decide fills out with what each claim would get, and reports whether all are allowed. The shards are locked.
func (m *Memory) decide(asks []ask, now Instant, out []Status) bool {
	all := true
	for i := range asks {
		k := &asks[i]
		if k.first != i {
			out[i] = out[k.first]
			continue
		}
		s := m.shard(k.hash)
		s.settle(m, k, now)
		s.peek(m, k, now, &out[i])
		all = all && out[i].Allowed
	}
	return all
}

// charge takes what decide allowed. The shards are locked.
func (m *Memory) charge(asks []ask, claims []Claim, now Instant, out []Status) {
	for i := range asks {
		k := &asks[i]
		s, sum := m.shard(k.hash), &asks[k.first]
		if k.first == i {
			s.take(m, k, now, &out[i])
		} else {
			out[i] = out[k.first]
		}
		s.hold(sum, m.reservation(k, claims[i].ID), claims[i].Cost, now)
	}
}

// Give implements Store.
func (m *Memory) Give(_ context.Context, claims []Claim) error {
	now := m.clock()
	for i := range claims {
		c := &claims[i]
		if c.Policy == nil || c.ID == "" || c.Cost < 0 {
			continue
		}
		var k ask
		m.ready(&k, c)
		s := m.shard(k.hash)
		s.mu.Lock()
		s.give(m, &k, m.reservation(&k, c.ID), now)
		s.mu.Unlock()
	}
	return nil
}

// keep forgets that a claim may be given back.
func (m *Memory) keep(c Claim) {
	var k ask
	m.ready(&k, &c)
	s := m.shard(k.hash)
	s.mu.Lock()
	delete(s.held, m.reservation(&k, c.ID))
	s.mu.Unlock()
}

// Reset implements Store.
func (m *Memory) Reset(_ context.Context, claims []Claim) error {
	for i := range claims {
		var k ask
		m.ready(&k, &claims[i])
		s := m.shard(k.hash)
		s.mu.Lock()
		s.forget(k.hash)
		s.mu.Unlock()
	}
	return nil
}

// Sweep drops every untouched key and gives its memory back, and follows a wall clock that was set forward. Room at the
// cap does not depend on it.
func (m *Memory) Sweep() {
	m.catchUp()
	now := m.clock()
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		s.sweep(now)
		s.mu.Unlock()
	}
}

// Run sweeps once a minute until ctx is done.
func (m *Memory) Run(ctx context.Context) {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			m.Sweep()
		}
	}
}

// Len counts the keys held.
func (m *Memory) Len() int {
	n := 0
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		n += s.cells.used + len(s.logs)
		s.mu.Unlock()
	}
	return n
}

// clock is the time by which everything is counted. It reads only the monotonic clock, which costs half of what both
// do and which nobody can set back.
func (m *Memory) clock() Instant {
	var passed time.Duration
	if m.real {
		passed = time.Since(m.start)
	} else {
		passed = m.now().Sub(m.start)
	}
	return m.begun + Instant(passed/time.Microsecond) + Instant(m.ahead.Load())
}

// catchUp follows a wall clock that was set forward, so that a day begins on time after a laptop slept. A wall clock
// set back is not followed: nobody would be admitted until it had caught up.
func (m *Memory) catchUp() {
	if ahead := InstantOf(m.now()) - m.clock(); ahead > 0 {
		m.ahead.Add(int64(ahead))
	}
}
