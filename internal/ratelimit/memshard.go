package ratelimit

import "sync"

// shard is one part of Memory's keys, with the lock that guards them.
type shard struct {
	mu    sync.Mutex
	cells table              // buckets, windows, counters
	logs  map[uint64]logCell // sliding logs, whose size varies
	held  map[uint64]holding // what may be given back
	most  int                // keys and log entries for which there is room
	units int                // log entries

	_ [64]byte // two shards' locks do not share a cache line
}

type logCell struct {
	state LogState
	until Instant // from then on the log is empty and may be dropped
}

// holding is one reservation.
type holding struct {
	home  uint64
	cost  int64
	taken Instant
	until Instant // from then on its units no longer count
}

// settle decides where a key is counted: in its own place, or in the overflow when there is no room for one more.
func (s *shard) settle(m *Memory, k *ask, now Instant) {
	if k.home = k.hash; s.cells.used+s.units >= s.most {
		s.makeRoom(m, k, now)
	}
}

func (s *shard) makeRoom(m *Memory, k *ask, now Instant) {
	if s.cells.find(k.hash) >= 0 || s.logs[k.hash].until != 0 || s.cells.evict(now) || s.evictLog(now) {
		return
	}
	k.home = m.overflow(k.policy)
}

func (s *shard) peek(m *Memory, k *ask, now Instant, st *Status) {
	if k.rule.algorithm == SlidingLog {
		*st = k.rule.log.Peek(s.logs[k.home].state, now, k.cost)
		return
	}
	c := s.find(m, k, now)
	if c == nil {
		c = &cell{}
	}
	k.rule.peek(c, now, k.cost, st)
}

func (s *shard) take(m *Memory, k *ask, now Instant, st *Status) {
	if k.rule.algorithm == SlidingLog {
		s.takeLog(k, now, st)
		return
	}
	if c := s.find(m, k, now); c != nil {
		k.rule.take(c, now, k.cost, st)
		return
	}
	fresh := cell{hash: k.home}
	fresh.setLimit(k.limit)
	if k.rule.take(&fresh, now, k.cost, st); st.Allowed && k.cost > 0 {
		s.cells.put(fresh)
	}
}

// find returns a key's cell, or nil. A cell counted under another limit is made one of this limit first,
// whatever is decided then: its wait runs from here.
func (s *shard) find(m *Memory, k *ask, now Instant) *cell {
	i := s.cells.find(k.home)
	if i < 0 {
		return nil
	}
	c := &s.cells.cells[i]
	if c.limit() != k.limit {
		m.adopt(c, k, now)
	}
	return c
}

func (s *shard) takeLog(k *ask, now Instant, st *Status) {
	before := s.logs[k.home].state
	var after LogState
	if after, *st = k.rule.log.Take(before, now, k.cost); st.Allowed && k.cost > 0 {
		s.setLog(k, after, len(before.Entries))
	}
}

// setLog writes a log back, or drops it when nothing is left in it.
func (s *shard) setLog(k *ask, state LogState, before int) {
	s.units += len(state.Entries) - before
	if len(state.Entries) == 0 {
		delete(s.logs, k.home)
		return
	}
	if s.logs == nil {
		s.logs = map[uint64]logCell{}
	}
	s.logs[k.home] = logCell{state: state, until: k.rule.log.leaves(state.Entries[len(state.Entries)-1])}
}

// hold remembers that cost was taken under a reservation. When there is no room it is not remembered, and what is
// given back later stays charged.
func (s *shard) hold(k *ask, reservation uint64, cost int64, now Instant) {
	if reservation == 0 || cost == 0 {
		return
	}
	if len(s.held) >= s.most && !s.evictHeld(now) {
		return
	}
	if s.held == nil {
		s.held = map[uint64]holding{}
	}
	h := holding{home: k.home, cost: cost + s.held[reservation].cost}
	h.taken, h.until = s.span(k, now)
	s.held[reservation] = h
}

// span is when a claim just charged was counted, and from when it no longer counts.
func (s *shard) span(k *ask, now Instant) (taken, until Instant) {
	switch c := s.cells.get(k.home); k.rule.algorithm {
	case SlidingLog:
		until = s.logs[k.home].until
		return until - Instant(k.rule.log.Period), until
	case FixedWindow:
		return c.until - 1, c.until
	case SlidingCounter:
		return c.until - 1 - Instant(k.rule.counter.Period), c.until
	default:
		return now, now + Instant(k.rule.bucket.fill)
	}
}

func (s *shard) give(m *Memory, k *ask, reservation uint64, now Instant) {
	h, known := s.held[reservation]
	if !known {
		return
	}
	delete(s.held, reservation)
	if h.until <= now {
		return
	}
	k.home = h.home
	units := min(k.cost, h.cost)
	if k.rule.algorithm == SlidingLog {
		before := s.logs[k.home].state
		count := len(before.Entries)
		s.setLog(k, k.rule.log.Give(before, now, h.taken, units), count)
		return
	}
	if c := s.find(m, k, now); c != nil && k.rule.give(c, now, h.taken, units) {
		s.cells.remove(s.cells.find(k.home))
	}
}

func (s *shard) forget(hash uint64) {
	if i := s.cells.find(hash); i >= 0 {
		s.cells.remove(i)
	}
	s.units -= len(s.logs[hash].state.Entries)
	delete(s.logs, hash)
}

// evictLog drops an empty log if it meets one within a few steps; a map's walk begins anywhere.
func (s *shard) evictLog(now Instant) bool {
	steps := 0
	for hash, l := range s.logs {
		if l.until <= now {
			s.forget(hash)
			return true
		}
		if steps++; steps == 8 {
			break
		}
	}
	return false
}

func (s *shard) evictHeld(now Instant) bool {
	steps := 0
	for reservation, h := range s.held {
		if h.until <= now {
			delete(s.held, reservation)
			return true
		}
		if steps++; steps == 8 {
			break
		}
	}
	return false
}

func (s *shard) sweep(now Instant) {
	s.cells.sweep(now)
	for hash, l := range s.logs {
		if l.until <= now {
			s.forget(hash)
		}
	}
	for reservation, h := range s.held {
		if h.until <= now {
			delete(s.held, reservation)
		}
	}
}
