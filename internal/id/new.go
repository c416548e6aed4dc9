package id

import (
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"
	"time"
)

// New returns a UUIDv7 (RFC 9562) of the current time and 62 random bits. Within this process every ID is greater than
// the ones made before it, also when many are made in one microsecond or the clock steps back.
// It is safe for concurrent use.
func New() ID {
	var id ID
	_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the process instead
	stamp := nextStamp(&last, time.Now())
	binary.BigEndian.PutUint64(id[:8], stamp>>12<<16|stamp&0xfff)
	id[6] |= 0x70             // version 7
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
	return id
}

// last is the newest stamp given out by this process.
var last atomic.Uint64

// nextStamp returns now as 48 bits of Unix milliseconds and 12 bits of a fraction of one (RFC 9562, 6.2, method 3),
// or the successor of last where that is later.
func nextStamp(last *atomic.Uint64, now time.Time) uint64 {
	ns := now.UnixNano()
	const ms = int64(time.Millisecond)
	stamp := uint64(ns/ms)<<12 | uint64(ns%ms<<12/ms)
	for {
		before := last.Load()
		next := max(stamp, before+1)
		if last.CompareAndSwap(before, next) {
			return next
		}
	}
}
