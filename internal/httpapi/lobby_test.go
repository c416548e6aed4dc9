package httpapi

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// visit is a guest who waits until the context or maxWait ends.
func visit(ctx context.Context, l *lobby, address string) (g *guest, answer <-chan bool) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	g = l.enter(address)
	out := make(chan bool, 1)
	go func() {
		defer cancel()
		out <- g.wait(ctx)
	}()
	synctest.Wait()
	return g, out
}

func TestUnitsGoToThoseWhoHaveWaitedLongest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l lobby
		good, bad := l.enter("office"), l.enter("office")
		first, firstAgain := visit(t.Context(), &l, "office")
		second, secondAgain := visit(t.Context(), &l, "office")
		good.gaveBack = true
		good.leave()
		if !<-firstAgain {
			t.Error("a unit was given back and the first in the row not told")
		}
		bad.leave()
		synctest.Wait()
		if len(secondAgain) != 0 {
			t.Error("nothing was given back and the second was told")
		}
		first.leave() // it had a bad token
		if <-secondAgain {
			t.Error("nobody is left who could give back, and the second is to try again")
		}
		second.leave()
		if len(l.addresses) != 0 {
			t.Errorf("%d addresses are remembered, want none", len(l.addresses))
		}
	})
}

func TestNobodyWaitsForNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l lobby
		start := time.Now()
		elsewhere := l.enter("elsewhere")
		alone, again := visit(t.Context(), &l, "office")
		if <-again || time.Since(start) != 0 {
			t.Error("waited alone")
		}
		late, other := l.enter("office"), l.enter("office")
		other.gaveBack = true
		other.leave() // between late's try and its wait
		if !late.wait(t.Context()) || time.Since(start) != 0 {
			t.Error("was not told of what had been given back already")
		}
		_, again = visit(t.Context(), &l, "office")
		if <-again || time.Since(start) != maxWait {
			t.Errorf("waited %v, want %v", time.Since(start), maxWait)
		}
		gone, hangUp := context.WithCancel(t.Context())
		_, again = visit(gone, &l, "office")
		hangUp()
		if <-again || time.Since(start) != maxWait {
			t.Error("waited for a client who had left")
		}
		elsewhere.leave()
		alone.leave()
	})
}

// TestTheLobbyIsEmptyInTheEnd lets many come, wait and leave at once.
func TestTheLobbyIsEmptyInTheEnd(t *testing.T) {
	t.Parallel()
	var l lobby
	var all sync.WaitGroup
	for i := range 400 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*100*time.Microsecond)
			defer cancel()
			g := l.enter([]string{"a", "b", "c"}[i%3])
			defer g.leave()
			for g.wait(ctx) {
			}
			g.gaveBack = i%2 == 0
		})
	}
	all.Wait()
	if len(l.addresses) != 0 {
		t.Errorf("%d addresses are remembered, want none", len(l.addresses))
	}
}
