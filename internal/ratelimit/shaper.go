package ratelimit

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrShaperFull means that every place in a [Shaper]'s line is taken. Nothing was waited for.
var ErrShaperFull = errors.New("shaper: the line is full")

// Shaper is a leaky bucket used as a queue: callers arrive as they like and leave one at a time, at a constant rate. It
// stands before a partner that must not be called faster than that, and delays where the other limits refuse.
//
//	arrive   1234  5               67        5 per second, 3 places
//	         ||||  |               ||
//	leave    1...2...3...4...------6...7     an interval, 200 ms, or more after whoever left before
//	            ^          ^     ^
//	            |          |     idle time is not saved up: 6 leaves at once, 7 an interval later
//	            |          nobody is there: nobody leaves
//	            5 finds three waiting: ErrShaperFull, at once
//
//	arrive   1234
//	         ||||
//	leave    1...2...4...                    3 has given up: its place is free at once and those behind
//	               ^                         it move up, so 4 leaves when 3 would have, and not sooner
//	               3 gives up
//
// Who is late, because the machine was busy, is not made up for: the next interval counts from when they really left. So
// the gap between any two is never under an interval, and there are no bursts at all. An interval that is no whole number
// of nanoseconds (3 per second) is rounded up each time and the remainder is kept, so that a line that never runs dry lets
// through exactly its quota per period.
//
// A Shaper is safe for concurrent use and runs no goroutine: whoever is first in line keeps the time.
type Shaper struct {
	quota  int64
	step   beat // one interval
	places int
	now    func() time.Time

	mu    sync.Mutex
	start time.Time // what beats count from
	next  beat      // nobody leaves before this
	line  list.List // of chan struct{}; each is closed when its owner is first
}

// beat is a time in nanoseconds and parts of one; the parts are a quota-th of a nanosecond each.
type beat struct {
	whole time.Duration
	parts int64
}

// Bounds of a Shaper's rate, so that no sum overflows.
const (
	maxShaperQuota  = 1 << 53
	maxShaperPeriod = 366 * 24 * time.Hour
)

// NewShaper returns a Shaper that lets quota callers pass per period, evenly spaced, while up to places others wait.
// Without places nobody waits: one either passes at once or is refused.
func NewShaper(quota int64, period time.Duration, places int) (*Shaper, error) {
	switch {
	case quota < 1 || quota > maxShaperQuota:
		return nil, fmt.Errorf("shaper: quota is %d, want 1 to %d", quota, int64(maxShaperQuota))
	case period < 1 || period > maxShaperPeriod:
		return nil, fmt.Errorf("shaper: period is %v, want 1ns to %v", period, maxShaperPeriod)
	case places < 0:
		return nil, fmt.Errorf("shaper: places is %d, want 0 or more", places)
	}
	s := &Shaper{
		quota:  quota,
		step:   beat{whole: period / time.Duration(quota), parts: int64(period) % quota},
		places: places,
		now:    time.Now,
	}
	s.start = s.now()
	return s, nil
}

// Wait returns nil when it is the caller's turn, and in no other order than that of arrival. It returns [ErrShaperFull] at
// once if there is no place to wait, and the context's error if that ends first: the place is given up then, and the turn
// goes to whoever is next, no sooner than it would have come.
func (s *Shaper) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	place, err := s.join()
	if err != nil || place == nil {
		return err
	}
	select {
	case <-turnOf(place):
	case <-ctx.Done():
		s.quit(place)
		return ctx.Err()
	}
	for {
		early := s.leave(place)
		if early <= 0 {
			return nil
		}
		timer := time.NewTimer(early)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			s.quit(place)
			return ctx.Err()
		}
	}
}

// Waiting is how many are in line.
func (s *Shaper) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line.Len()
}

// join takes a place at the end of the line. The place is nil if it is the caller's turn already.
func (s *Shaper) join() (*list.Element, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line.Len() == 0 && s.pass() <= 0 {
		return nil, nil
	}
	if s.line.Len() >= s.places {
		return nil, ErrShaperFull
	}
	place := s.line.PushBack(make(chan struct{}))
	if s.line.Len() == 1 {
		s.callFirst()
	}
	return place, nil
}

// leave lets the first in line pass, or returns how much too early it is.
func (s *Shaper) leave(first *list.Element) (early time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if early = s.pass(); early <= 0 {
		s.line.Remove(first)
		s.callFirst()
	}
	return early
}

// quit gives a place up.
func (s *Shaper) quit(place *list.Element) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wasFirst := s.line.Front() == place
	s.line.Remove(place)
	if wasFirst {
		s.callFirst()
	}
}

func (s *Shaper) callFirst() {
	if first := s.line.Front(); first != nil {
		close(turnOf(first))
	}
}

// turnOf is closed when everybody before this place has left.
func turnOf(place *list.Element) chan struct{} {
	turn, _ := place.Value.(chan struct{}) // join puts nothing else there
	return turn
}

// pass lets one caller leave now and moves the next turn on, or returns how much too early it is.
func (s *Shaper) pass() (early time.Duration) {
	now, due := s.now().Sub(s.start), s.next.ceil()
	if now < due {
		return due - now
	}
	if now > due { // idle or late: neither is made up for
		s.next = beat{whole: now}
	}
	s.next = s.next.plus(s.step, s.quota)
	return 0
}

// ceil is the first whole nanosecond that is not before b.
func (b beat) ceil() time.Duration {
	if b.parts > 0 {
		return b.whole + 1
	}
	return b.whole
}

func (b beat) plus(step beat, quota int64) beat {
	sum := beat{whole: b.whole + step.whole, parts: b.parts + step.parts}
	if sum.parts >= quota {
		sum.whole, sum.parts = sum.whole+1, sum.parts-quota
	}
	return sum
}
