package auth

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
)

// cache remembers what look-ups found, by token hash. Reads take no lock.
//
// A good entry counts as fresh only while a listener vouches for it: the one that was connected when the look-up began
// still is, and its last sign of life is recent. With that, whatever was revoked since the look-up has been forgotten.
type cache struct {
	good *otter.Cache[tokenHash, *entry]
	bad  *otter.Cache[tokenHash, time.Time] // until when; a token once bad stays bad, so nobody need vouch

	listener atomic.Pointer[listener] // nil while none is connected

	mu      sync.Mutex // makes "nothing was forgotten since" and the write that relies on it one step
	forgets uint64
}

// entry is immutable.
type entry struct {
	principal Principal
	verified  time.Time
	freshTill time.Time
	listener  *listener // who vouches; may be nil
}

// listener is one connection that hears of revocations.
type listener struct {
	trustTill atomic.Int64 // Unix nanoseconds: its last sign of life and a little more
}

func newCache(size int) *cache {
	return &cache{
		good: otter.Must(&otter.Options[tokenHash, *entry]{MaximumSize: size}),
		bad:  otter.Must(&otter.Options[tokenHash, time.Time]{MaximumSize: size}),
	}
}

type verdict uint8

const (
	unsure verdict = iota // ask the database
	good
	bad
)

func (c *cache) get(hash tokenHash, now time.Time) (Principal, verdict) {
	if e, ok := c.good.GetIfPresent(hash); ok && now.Before(e.freshTill) && c.vouches(e.listener, now) {
		return e.principal, good
	}
	if till, ok := c.bad.GetIfPresent(hash); ok && now.Before(till) {
		return Principal{}, bad
	}
	return Principal{}, unsure
}

func (c *cache) vouches(l *listener, now time.Time) bool {
	return l != nil && l == c.listener.Load() && now.UnixNano() < l.trustTill.Load()
}

func (c *cache) known(hash tokenHash, now time.Time) bool {
	e, ok := c.good.GetIfPresent(hash)
	return ok && now.Before(e.verified.Add(knownFor))
}

// mark is taken before a look-up and handed to accept after it.
type mark struct {
	forgets  uint64
	listener *listener
}

func (c *cache) mark() mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return mark{forgets: c.forgets, listener: c.listener.Load()}
}

// accept remembers a principal found at now, unless something was forgotten since the mark: it may have been this.
func (c *cache) accept(hash tokenHash, p Principal, now, ends time.Time, since mark) {
	e := &entry{principal: p, verified: now, freshTill: now.Add(freshFor), listener: since.listener}
	if ends.Before(e.freshTill) {
		e.freshTill = ends
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgets == since.forgets {
		c.good.Set(hash, e)
	}
}

// reject remembers that a token is bad. It does not count as forgetting: a flood of bad tokens must not keep good ones out.
func (c *cache) reject(hash tokenHash, now time.Time) {
	c.good.Invalidate(hash)
	c.bad.Set(hash, now.Add(badFor))
}

// forget drops what is known of a token.
func (c *cache) forget(hash tokenHash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgets++
	c.good.Invalidate(hash)
}

// forgetAll drops every principal.
func (c *cache) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgets++
	c.good.InvalidateAll()
}

// attach makes l the listener that vouches from now on: all that was found before is stale. Nil: nothing is fresh.
func (c *cache) attach(l *listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listener.Store(l)
}
