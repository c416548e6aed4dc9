package httpapi

import (
	"context"
	"slices"
	"sync"
	"time"
)

// lobby is where requests with an unknown token wait for a unit of anonymous that others of their address have reserved
// and may give back.
//
//	20 units, 24 tokens at once     20 are looked up, 4 wait
//	a token is good                 its unit is given back: the one who has waited longest tries again
//	a token is bad                  its unit stays spent: nobody stirs
//	nobody is being looked up       there is nothing to wait for: all who wait are refused
//
// The zero value is an empty lobby.
type lobby struct {
	mu        sync.Mutex
	addresses map[string]*crowd
}

// crowd is the guests of one address.
type crowd struct {
	busy    int      // that reserve a unit or are being looked up
	given   int      // units given back so far
	waiting []*guest // in the order they came
}

// maxWait is how long a guest waits, all in all.
const maxWait = 200 * time.Millisecond

// guest is one request in the lobby.
type guest struct {
	lobby    *lobby
	address  string
	seen     int       // of crowd.given when the guest last tried
	answer   chan bool // to whether to try again, while it waits; has room for it
	gaveBack bool      // the unit; set before leave
}

func (l *lobby) enter(address string) *guest {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.addresses[address]
	if c == nil {
		if l.addresses == nil {
			l.addresses = map[string]*crowd{}
		}
		c = new(crowd)
		l.addresses[address] = c
	}
	c.busy++
	return &guest{lobby: l, address: address, seen: c.given}
}

// wait is for a guest who found no unit. It reports whether to try again: one was given back. It is false when nobody is
// left who could do so, and when ctx ends.
func (g *guest) wait(ctx context.Context) bool {
	waits, again := g.sit()
	if !waits {
		return again && ctx.Err() == nil
	}
	select {
	case again = <-g.answer:
		return again
	case <-ctx.Done():
		return g.rise()
	}
}

// sit puts the guest at the end of the row, unless the answer is known.
func (g *guest) sit() (waits, again bool) {
	g.lobby.mu.Lock()
	defer g.lobby.mu.Unlock()
	c := g.lobby.addresses[g.address]
	if again = c.given != g.seen; again || c.busy == 1 {
		g.seen = c.given
		return false, again
	}
	g.answer = make(chan bool, 1)
	c.waiting = append(c.waiting, g)
	c.busy--
	return true, false
}

// rise takes the guest out of the row. An answer that came at the last moment counts: no other guest was told.
func (g *guest) rise() (again bool) {
	g.lobby.mu.Lock()
	defer g.lobby.mu.Unlock()
	c := g.lobby.addresses[g.address]
	if i := slices.Index(c.waiting, g); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
		c.busy++
		return false
	}
	return <-g.answer
}

// leave ends the visit. Who waits is told if a unit was given back, and if this was the last who could have done so.
func (g *guest) leave() {
	g.lobby.mu.Lock()
	defer g.lobby.mu.Unlock()
	c := g.lobby.addresses[g.address]
	if g.gaveBack {
		c.given++
		c.tell(min(1, len(c.waiting)), true)
	}
	if c.busy--; c.busy > 0 {
		return
	}
	if c.tell(len(c.waiting), false); c.busy == 0 {
		delete(g.lobby.addresses, g.address)
	}
}

// tell answers the first n of the row, who are busy again.
func (c *crowd) tell(n int, again bool) {
	for _, g := range c.waiting[:n] {
		g.seen = c.given
		g.answer <- again
	}
	c.waiting = slices.Delete(c.waiting, 0, n)
	c.busy += n
}
