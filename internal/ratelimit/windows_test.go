package ratelimit_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/ratelimit"
)

// ms is an instant some milliseconds after an epoch at which every window begins.
func ms(n int64) ratelimit.Instant { return ratelimit.Instant(n * 1000) }

func limit(a ratelimit.Algorithm, quota int64, period time.Duration) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: a, Quota: quota, Period: period}
}

// taker is a limit and its state, whatever the algorithm: what the lesson's figures need of it.
type taker func(now ratelimit.Instant, cost int64) ratelimit.Status

func newTaker(l ratelimit.Limit) taker {
	switch l.Algorithm {
	case ratelimit.FixedWindow:
		return hold(l.Window().Take)
	case ratelimit.SlidingLog:
		return hold(l.Log().Take)
	case ratelimit.SlidingCounter:
		return hold(l.Counter().Take)
	case ratelimit.LeakyBucket:
		return hold(l.Meter().Take)
	default:
		return hold(l.Bucket().Take)
	}
}

func hold[S any](take func(S, ratelimit.Instant, int64) (S, ratelimit.Status)) taker {
	var state S
	return func(now ratelimit.Instant, cost int64) (st ratelimit.Status) {
		state, st = take(state, now, cost)
		return st
	}
}

// admittedAt runs traffic of cost 1 and returns the times admitted.
func admittedAt(l ratelimit.Limit, traffic []ratelimit.Instant) (times []ratelimit.Instant) {
	take := newTaker(l)
	for _, now := range traffic {
		if take(now, 1).Allowed {
			times = append(times, now)
		}
	}
	return times
}

// worst is the most of times, which ascend, inside one half-open span of a length.
func worst(times []ratelimit.Instant, span time.Duration) int {
	most, first := 0, 0
	for i := range times {
		for times[i]-times[first] >= ratelimit.Instant(span.Microseconds()) {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// TestBoundary is the lesson's first figure: a full quota on each side of a window's boundary.
func TestBoundary(t *testing.T) {
	t.Parallel()
	var traffic []ratelimit.Instant
	for _, start := range []int64{59_000, 60_000} {
		for i := range int64(100) {
			traffic = append(traffic, ms(start+10*i))
		}
	}
	for a, want := range map[ratelimit.Algorithm]int{ratelimit.FixedWindow: 200, ratelimit.SlidingLog: 100} {
		if got := len(admittedAt(limit(a, 100, time.Minute), traffic)); got != want {
			t.Errorf("%v admits %d, want %d", a, got, want)
		}
	}
}

// TestSideBySide is the lesson's third figure: one traffic, four ways to count.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	var traffic []ratelimit.Instant
	for i := range 25 {
		traffic = append(traffic, ms(9_000+int64(math.Round(float64(i)*2000/24))))
	}
	type result struct{ Admitted, Worst int }
	got := map[ratelimit.Algorithm]result{}
	for a := ratelimit.TokenBucket; a < ratelimit.LeakyBucket; a++ {
		times := admittedAt(limit(a, 10, 10*time.Second), traffic)
		got[a] = result{len(times), worst(times, 10*time.Second)}
	}
	want := map[ratelimit.Algorithm]result{
		ratelimit.FixedWindow: {20, 20}, ratelimit.SlidingLog: {10, 10},
		ratelimit.SlidingCounter: {11, 11}, ratelimit.TokenBucket: {12, 12},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWorstSpan is the lesson's tenth figure: random traffic, and the worst ten seconds.
func TestWorstSpan(t *testing.T) {
	t.Parallel()
	for seed, window := range map[float64]int{1: 31, 2: 28, 3: 26} {
		var traffic []ratelimit.Instant
		now, x := int64(0), seed
		for range 2000 {
			x = math.Mod(x*1103515245+12345, 1<<31)
			now += int64(x / (1 << 31) * 400)
			traffic = append(traffic, ms(now))
		}
		for a, want := range map[ratelimit.Algorithm]int{ratelimit.SlidingLog: 20, ratelimit.FixedWindow: window} {
			if got := worst(admittedAt(limit(a, 20, 10*time.Second), traffic), 10*time.Second); got != want {
				t.Errorf("seed %v: worst span of a %v is %d, want %d", seed, a, got, want)
			}
		}
	}
}

// TestDailyQuota is the lesson's ninth figure: a thousand a day, used up before midnight.
func TestDailyQuota(t *testing.T) {
	t.Parallel()
	daily := newTaker(limit(ratelimit.FixedWindow, 1000, 24*time.Hour))
	night := time.Date(2026, 9, 24, 23, 59, 30, 0, time.UTC)
	daily(ratelimit.InstantOf(night.Add(-time.Hour)), 1000)
	if st := daily(ratelimit.InstantOf(night), 1); st.Allowed || st.Wait != 30*time.Second {
		t.Errorf("30 s before midnight: got %+v, want to wait 30s", st)
	}
	if st := daily(ratelimit.InstantOf(night.Add(31*time.Second)), 1); !st.Allowed || st.Remaining != 999 {
		t.Errorf("a second after midnight: got %+v, want 999 left", st)
	}
}

func ExampleLog() {
	guesses := ratelimit.Limit{Algorithm: ratelimit.SlidingLog, Quota: 5, Period: 15 * time.Minute}.Log()
	var state ratelimit.LogState
	var st ratelimit.Status
	for minute := range ratelimit.Instant(7) {
		state, st = guesses.Take(state, minute*60_000_000, 1)
		fmt.Println(st.Allowed, st.Remaining, st.Wait)
	}
	// Output:
	// true 4 0s
	// true 3 0s
	// true 2 0s
	// true 1 0s
	// true 0 0s
	// false 0 10m0s
	// false 0 9m0s
}

// TestLogForgetsRefusals hammers a full log: it opens when the oldest admitted unit leaves, and not later.
func TestLogForgetsRefusals(t *testing.T) {
	t.Parallel()
	take := newTaker(limit(ratelimit.SlidingLog, 3, 10*time.Second))
	for _, at := range []int64{0, 1000, 2000} {
		take(ms(at), 1)
	}
	for at := int64(2001); at < 10_000; at++ {
		if st := take(ms(at), 1); st.Allowed || st.Wait != time.Duration(10_000-at)*time.Millisecond {
			t.Fatalf("at %d ms: got %+v, want refused until 10,000", at, st)
		}
	}
	if st := take(ms(10_000), 1); !st.Allowed {
		t.Errorf("when the oldest has left: %+v", st)
	}
}

func TestLogWaitsForEnoughUnits(t *testing.T) {
	t.Parallel()
	take := newTaker(limit(ratelimit.SlidingLog, 10, 10*time.Second))
	take(ms(0), 2)
	take(ms(1000), 3)
	take(ms(2000), 5)
	for cost, want := range map[int64]string{1: "8s", 2: "8s", 3: "9s", 5: "9s", 6: "10s", 10: "10s"} {
		if st := take(ms(2000), cost); st.Wait.String() != want {
			t.Errorf("cost %d: wait %v, want %v", cost, st.Wait, want)
		}
	}
}

// TestCounterSlides is the half-way point of a window: half of the window before still counts.
func TestCounterSlides(t *testing.T) {
	t.Parallel()
	take := newTaker(limit(ratelimit.SlidingCounter, 10, time.Minute))
	take(ms(30_000), 10)
	for range 1000 {
		take(ms(45_000), 1)
	}
	admitted := 0
	for range 1000 {
		if take(ms(90_000), 1).Allowed {
			admitted++
		}
	}
	if admitted != 5 {
		t.Errorf("%d admitted half-way through the next window, want 5", admitted)
	}
}

// TestCounterCountsInTheWindowThatBegins takes at the first instant of a window, after one without traffic.
func TestCounterCountsInTheWindowThatBegins(t *testing.T) {
	t.Parallel()
	take := newTaker(limit(ratelimit.SlidingCounter, 10, time.Minute))
	take(ms(30_000), 1)
	take(ms(120_000), 10)
	if st := take(ms(210_000), 0); st.Remaining != 5 {
		t.Errorf("half-way through the next window: %d left, want 5", st.Remaining)
	}
}

func TestCounterDoesNotOverflow(t *testing.T) {
	t.Parallel()
	for _, quota := range []int64{200_000, 999_999_999_999_999} {
		day := limit(ratelimit.SlidingCounter, quota, 24*time.Hour)
		if err := day.Validate(); err != nil {
			t.Fatal(err)
		}
		take := newTaker(day)
		if st := take(ms(0), quota); !st.Allowed {
			t.Fatalf("%d at once: %+v", quota, st)
		}
		if st := take(ms(36*3600*1000), quota/2+2); st.Allowed || st.Remaining != quota/2 {
			t.Errorf("%d a day, half a day later: got %+v, want %d left", quota, st, quota/2)
		}
	}
}

func TestWindowGivesBackOnlyIntoTheWindowItTookFrom(t *testing.T) {
	t.Parallel()
	w := limit(ratelimit.FixedWindow, 5, 10*time.Second).Window()
	state, _ := w.Take(ratelimit.WindowState{}, ms(9_000), 2)
	state, _ = w.Take(state, ms(10_000), 3)
	if st := w.Peek(w.Give(state, ms(10_000), ms(9_000), 2), ms(10_000), 0); st.Remaining != 2 {
		t.Errorf("from the window before: %d left, want 2", st.Remaining)
	}
	if st := w.Peek(w.Give(state, ms(11_000), ms(10_000), 9), ms(11_000), 0); st.Remaining != 5 {
		t.Errorf("more than was used: %d left, want 5", st.Remaining)
	}
	if got := w.Give(state, ms(20_000), ms(10_000), 3); got != state {
		t.Errorf("when the window is over: state moved to %+v", got)
	}
}

func TestLatecomersFindNoFreshWindow(t *testing.T) {
	t.Parallel()
	for _, a := range []ratelimit.Algorithm{ratelimit.FixedWindow, ratelimit.SlidingLog, ratelimit.SlidingCounter} {
		take := newTaker(limit(a, 5, 10*time.Second))
		take(ms(100_000), 5)
		for _, late := range []int64{99_999, 95_000, 50_000, 0} {
			if st := take(ms(late), 1); st.Allowed || st.Wait <= 0 {
				t.Errorf("%v at %d ms, after 100,000: got %+v, want refused", a, late, st)
			}
		}
	}
}
