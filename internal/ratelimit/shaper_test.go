package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/ratelimit"
)

func newShaper(t testing.TB, quota int64, period time.Duration, places int) *ratelimit.Shaper {
	t.Helper()
	s, err := ratelimit.NewShaper(quota, period, places)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// departures records who left when, in time since its making.
type departures struct {
	mu    sync.Mutex
	start time.Time
	at    []time.Duration
	who   []int
}

func (d *departures) note(who int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = append(d.at, time.Since(d.start))
	d.who = append(d.who, who)
}

// seen returns what has been noted so far.
func (d *departures) seen() (at []time.Duration, who []int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.at), slices.Clone(d.who)
}

func TestShaperLetsOneLeaveAtATimeInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShaper(t, 5, time.Second, 10)
		left := departures{start: time.Now()}
		for i := range 6 {
			go func() {
				if err := s.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				left.note(i)
			}()
			synctest.Wait() // so that they arrive in this order
		}
		time.Sleep(time.Minute)
		at, who := left.seen()
		ms := time.Millisecond
		want := []time.Duration{0, 200 * ms, 400 * ms, 600 * ms, 800 * ms, 1000 * ms}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5}, who); diff != "" {
			t.Error(diff)
		}
		go func() { _ = s.Wait(t.Context()); left.note(6) }()
		go func() { _ = s.Wait(t.Context()); left.note(6) }()
		time.Sleep(time.Minute)
		at, _ = left.seen()
		if gap := at[7] - at[6]; gap != 200*ms {
			t.Errorf("after a minute's rest two left %v apart, want 200ms: idle time is not saved up", gap)
		}
	})
}

func TestShaperIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShaper(t, 1, time.Second, 2)
		ctx, stop := context.WithCancel(t.Context())
		if err := s.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			go func() { _ = s.Wait(ctx) }()
		}
		synctest.Wait()
		before := time.Now()
		if err := s.Wait(ctx); !errors.Is(err, ratelimit.ErrShaperFull) || time.Since(before) != 0 {
			t.Errorf("with both places taken: %v after %v, want ErrShaperFull at once", err, time.Since(before))
		}
		stop()
		synctest.Wait()
		if n := s.Waiting(); n != 0 {
			t.Errorf("%d still wait, want 0", n)
		}
	})
}

func TestShaperWithoutPlacesPassesOrRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShaper(t, 10, time.Second, 0)
		for range 3 {
			if err := s.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100*time.Millisecond - 1)
			if err := s.Wait(t.Context()); !errors.Is(err, ratelimit.ErrShaperFull) {
				t.Fatalf("a nanosecond too early: %v, want ErrShaperFull", err)
			}
			time.Sleep(time.Nanosecond)
		}
	})
}

// TestShaperMovesUpWithoutABurst has waiters give up in the middle, at the end and at the head of the line.
func TestShaperMovesUpWithoutABurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShaper(t, 1, time.Second, 10)
		left := departures{start: time.Now()}
		var giveUp [7]context.CancelFunc
		for i := range giveUp {
			ctx, cancel := context.WithCancel(t.Context())
			giveUp[i] = cancel
			go func() {
				switch err := s.Wait(ctx); {
				case err == nil:
					left.note(i)
				case !errors.Is(err, context.Canceled):
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		time.Sleep(900 * time.Millisecond)
		for _, i := range []int{1, 3, 6} {
			giveUp[i]()
		}
		synctest.Wait()
		if n := s.Waiting(); n != 3 {
			t.Errorf("%d wait after three gave up, want 3", n)
		}
		time.Sleep(time.Minute)
		at, who := left.seen()
		if diff := cmp.Diff([]int{0, 2, 4, 5}, who); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}, at); diff != "" {
			t.Error(diff)
		}
		for _, cancel := range giveUp {
			cancel()
		}
	})
}

func TestShaperKeepsRemainders(t *testing.T) {
	t.Parallel()
	for _, rate := range []struct {
		quota  int64
		period time.Duration
	}{{3, time.Second}, {7, time.Millisecond}, {999_999_937, time.Second}, {2_000_000_000, time.Second}, {1, time.Hour}} {
		synctest.Test(t, func(t *testing.T) {
			s := newShaper(t, rate.quota, rate.period, 1)
			start := time.Now()
			for i := range int64(1000) {
				if err := s.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				want := time.Duration((i*int64(rate.period) + rate.quota - 1) / rate.quota)
				if got := time.Since(start); got != want {
					t.Fatalf("%d per %v: departure %d after %v, want %v", rate.quota, rate.period, i, got, want)
				}
			}
		})
	}
}

// TestShaperNeverExceedsItsRate throws callers with random patience at it: between any two departures lies an interval.
func TestShaperNeverExceedsItsRate(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(seed, 0))
		const interval = 10 * time.Millisecond
		s := newShaper(t, 100, time.Second, 20)
		left := departures{start: time.Now()}
		full, gaveUp := 0, 0
		var mu sync.Mutex
		var callers sync.WaitGroup
		for i := range 2000 {
			time.Sleep(time.Duration(1+random.IntN(14)) * time.Millisecond) // no two at once: their order would be anybody's
			if random.IntN(100) == 0 {
				time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
			}
			patience := time.Duration(1+random.IntN(150)) * time.Millisecond
			callers.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				err := s.Wait(ctx)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					left.note(i)
				case errors.Is(err, ratelimit.ErrShaperFull):
					full++
				default:
					gaveUp++
				}
			})
		}
		callers.Wait()
		at, who := left.seen()
		for i := 1; i < len(at); i++ {
			if gap := at[i] - at[i-1]; gap < interval {
				t.Fatalf("departures %v and %v are %v apart", at[i-1], at[i], gap)
			}
		}
		if !slices.IsSorted(who) {
			t.Error("somebody was overtaken")
		}
		if n := len(at); n < 1000 || gaveUp == 0 {
			t.Errorf("%d left, %d gave up, %d found it full: the test shows too little", n, gaveUp, full)
		}
		if s.Waiting() != 0 {
			t.Errorf("%d wait for ever", s.Waiting())
		}
	})
}

func TestShaperRefusesSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	for _, s := range []struct {
		quota  int64
		period time.Duration
		places int
	}{{0, time.Second, 1}, {-1, time.Second, 1}, {1, 0, 1}, {1, -1, 1}, {1, time.Second, -1}, {1 << 54, time.Second, 1}, {1, 1 << 62, 1}} {
		if _, err := ratelimit.NewShaper(s.quota, s.period, s.places); err == nil {
			t.Errorf("%+v was accepted", s)
		}
	}
}

func TestShaperDoesNotServeTheDead(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newShaper(t, 1, time.Hour, 1)
	if err := s.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Errorf("the turn was spent on a caller that had gone: %v", err)
	}
}

// A partner takes five calls a second, whatever comes in.
func ExampleShaper() {
	toPartner, err := ratelimit.NewShaper(5, time.Second, 100)
	if err != nil {
		panic(err)
	}
	for call := range 3 {
		if err := toPartner.Wait(context.Background()); err != nil {
			fmt.Println("not now:", err)
			return
		}
		fmt.Println("call", call)
	}
	// Output:
	// call 0
	// call 1
	// call 2
}
