package telemetry

import (
	"sync"
	"time"
)

// Seldom keeps a log readable when one thing goes wrong for every request: it is told at once, and then at most once a
// second, with how often it happened in between. The zero value is ready, and safe for concurrent use.
type Seldom struct {
	mu   sync.Mutex
	told map[string]*told
}

type told struct {
	at   time.Time
	more int // since, and not told
}

const seldom = time.Second

// Due reports whether to tell of a thing now, and how often it was held back since it was last told of. Things are
// remembered for good, so they must be few and known.
func (s *Seldom) Due(now time.Time, thing string) (more int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.told[thing]
	switch {
	case last == nil:
		if s.told == nil {
			s.told = map[string]*told{}
		}
		s.told[thing] = &told{at: now}
		return 0, true
	case now.Sub(last.at) < seldom:
		last.more++
		return 0, false
	}
	more, last.more, last.at = last.more, 0, now
	return more, true
}
