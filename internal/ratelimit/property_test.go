package ratelimit_test

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/bankapi/internal/ratelimit"
)

var everyAlgorithm = rapid.SampledFrom([]ratelimit.Algorithm{
	ratelimit.TokenBucket, ratelimit.FixedWindow, ratelimit.SlidingLog, ratelimit.SlidingCounter, ratelimit.LeakyBucket,
})

// anyLimit draws a limit that Validate accepts, from round ones to ugly primes.
func anyLimit(algorithm *rapid.Generator[ratelimit.Algorithm]) *rapid.Generator[ratelimit.Limit] {
	return rapid.Custom(func(t *rapid.T) ratelimit.Limit {
		l := ratelimit.Limit{
			Algorithm: algorithm.Draw(t, "algorithm"),
			Quota:     rapid.Int64Range(1, 60).Draw(t, "quota"),
			Period: rapid.SampledFrom([]time.Duration{
				time.Microsecond, 7 * time.Microsecond, time.Millisecond, 999_983 * time.Microsecond, time.Second,
				19 * time.Second, 15 * time.Minute, 24 * time.Hour,
			}).Draw(t, "period"),
		}
		if l.Algorithm == ratelimit.TokenBucket || l.Algorithm == ratelimit.LeakyBucket {
			l.Burst = rapid.Int64Range(0, 80).Draw(t, "burst")
		}
		if err := l.Validate(); err != nil {
			t.Fatalf("%+v: %v", l, err)
		}
		return l
	})
}

// step is one request of random traffic: a pause that may go back, and a cost.
type step struct {
	pause int64 // µs
	cost  int64
}

func anySteps(l ratelimit.Limit, late bool) *rapid.Generator[[]step] {
	period, capacity := l.Period.Microseconds(), l.Capacity()
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		pause := rapid.OneOf(
			rapid.Just(int64(0)), rapid.Int64Range(0, 2*period/l.Quota+2), rapid.Int64Range(0, 2*period),
		).Draw(t, "pause")
		if late && rapid.IntRange(0, 5).Draw(t, "late") == 0 {
			pause = -pause
		}
		return step{pause, rapid.Int64Range(0, min(capacity, 5)+1).Draw(t, "cost")}
	}), 1, 60)
}

const epoch = ratelimit.Instant(1_790_245_230_000_017)

// TestPropertyWaits: who is refused is admitted exactly when told, and not a microsecond earlier.
func TestPropertyWaits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := anyLimit(everyAlgorithm).Draw(t, "limit")
		take, now := newTaker(l), epoch
		for _, s := range anySteps(l, true).Draw(t, "steps") {
			now = max(now+ratelimit.Instant(s.pause), 0)
			st := take(now, s.cost)
			checkStatus(t, l, s.cost, st)
			if st.Wait == 0 {
				continue
			}
			ready := now + ratelimit.Instant(st.Wait.Microseconds())
			if early := take(ready-1, s.cost); early.Allowed || early.Wait != time.Microsecond {
				t.Fatalf("cost %d, a microsecond before the %v it was told: %+v", s.cost, st.Wait, early)
			}
			if then := take(ready, s.cost); !then.Allowed {
				t.Fatalf("cost %d, after the %v it was told: %+v", s.cost, st.Wait, then)
			}
			now = ready
		}
	})
}

// checkStatus holds for every status of every algorithm.
func checkStatus(t *rapid.T, l ratelimit.Limit, cost int64, st ratelimit.Status) {
	switch {
	case st.Never != (cost > l.Capacity()):
		t.Fatalf("cost %d of %d: %+v", cost, l.Capacity(), st)
	case st.Remaining < 0 || st.Remaining > l.Capacity():
		t.Fatalf("left is outside 0..%d: %+v", l.Capacity(), st)
	case (st.Wait > 0) != (!st.Allowed && !st.Never):
		t.Fatalf("a wait is for the refused: %+v", st)
	case st.Oldest < 0 || st.Reset < 0 || l.Algorithm != ratelimit.FixedWindow && st.Oldest > st.Reset:
		t.Fatalf("the oldest leaves before the newest: %+v", st)
	case !st.Allowed && !st.Never && st.Wait > st.Reset:
		t.Fatalf("an untouched key admits all it can: %+v", st)
	}
}

// TestPropertyRate: in no interval does a bucket admit more than it holds and what flows in, whatever the order of
// timestamps; in no span of its period does a log admit more than its quota.
func TestPropertyRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		exact := rapid.SampledFrom([]ratelimit.Algorithm{ratelimit.TokenBucket, ratelimit.SlidingLog})
		l := anyLimit(exact).Draw(t, "limit")
		checkRate(t, l, anySteps(l, l.Algorithm == ratelimit.TokenBucket).Draw(t, "steps"))
	})
}

type fataler interface {
	Fatalf(format string, args ...any)
}

type charge struct {
	at   ratelimit.Instant
	cost int64
}

func checkRate(t fataler, l ratelimit.Limit, steps []step) {
	take, now := newTaker(l), epoch
	var charged []charge
	for _, s := range steps {
		now = max(now+ratelimit.Instant(s.pause), 0)
		if take(now, s.cost).Allowed {
			charged = append(charged, charge{now, s.cost})
		}
	}
	slices.SortFunc(charged, func(a, b charge) int { return int(a.at - b.at) })
	for i := range charged {
		sum := int64(0)
		for _, c := range charged[i:] {
			sum += c.cost
			if most := mostWithin(l, int64(c.at-charged[i].at)); sum > most {
				t.Fatalf("%+v: %d units within %d µs, at most %d", l, sum, c.at-charged[i].at, most)
			}
		}
	}
}

// mostWithin is what a limit may admit from one instant to another, both included.
func mostWithin(l ratelimit.Limit, micros int64) int64 {
	if l.Algorithm == ratelimit.TokenBucket {
		flow := new(big.Int).Mul(big.NewInt(micros), big.NewInt(l.Quota))
		return l.Capacity() + flow.Div(flow, big.NewInt(l.Period.Microseconds())).Int64()
	}
	return l.Quota * (micros/l.Period.Microseconds() + 1)
}

// TestPropertyModel replays traffic against tokens counted as exact fractions, the definition of a token bucket.
func TestPropertyModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := anyLimit(rapid.Just(ratelimit.TokenBucket)).Draw(t, "limit")
		take, now := newTaker(l), epoch
		rate := big.NewRat(l.Quota, l.Period.Microseconds())
		full := new(big.Rat).SetInt64(l.Capacity())
		tokens := new(big.Rat).Set(full)
		for _, s := range anySteps(l, false).Draw(t, "steps") {
			now += ratelimit.Instant(s.pause)
			tokens.Add(tokens, new(big.Rat).Mul(rate, new(big.Rat).SetInt64(s.pause)))
			if tokens.Cmp(full) > 0 {
				tokens.Set(full)
			}
			cost := new(big.Rat).SetInt64(s.cost)
			want := tokens.Cmp(cost) >= 0
			if want {
				tokens.Sub(tokens, cost)
			}
			left := new(big.Int).Div(tokens.Num(), tokens.Denom()).Int64()
			if st := take(now, s.cost); st.Allowed != want || st.Remaining != left {
				t.Fatalf("cost %d: got %+v, want allowed %v with %d left", s.cost, st, want, left)
			}
		}
	})
}

// TestPropertyRefund: giving back at once what was just taken leaves the bucket as if it had not been taken.
func TestPropertyRefund(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := anyLimit(rapid.Just(ratelimit.TokenBucket)).Draw(t, "limit")
		b, now := l.Bucket(), epoch
		var state ratelimit.BucketState
		for _, s := range anySteps(l, false).Draw(t, "steps") {
			now += ratelimit.Instant(s.pause)
			taken, st := b.Take(state, now, s.cost)
			if !st.Allowed {
				continue
			}
			got, want := b.Peek(b.Give(taken, now, s.cost), now, 0), b.Peek(state, now, 0)
			if got != want {
				t.Fatalf("took %d and gave it back: got %+v, want %+v", s.cost, got, want)
			}
			state = taken
		}
	})
}

// FuzzBucket holds the rate of any bucket in any interval, for any traffic, timestamps in any order.
func FuzzBucket(f *testing.F) {
	f.Add(int64(2), int64(1_000_000), int64(10), []byte{0, 5, 0, 5, 0, 5, 200, 5, 50, 5})
	f.Add(int64(3), int64(1_000_000), int64(1), []byte{1, 1, 2, 1, 128, 1, 3, 1})
	f.Add(int64(2_000_000_000), int64(1_000_000), int64(0), []byte{0, 255, 1, 255, 129, 255})
	f.Fuzz(func(t *testing.T, quota, period, burst int64, traffic []byte) {
		l := bucket(quota, time.Duration(period%(1<<50))*time.Microsecond, burst)
		if l.Validate() != nil {
			t.Skip()
		}
		// Each two bytes are a request: a pause in 32nds of a token's time, back in time from 128 on, and a cost.
		unit := max(l.Period.Microseconds()/l.Quota/32, 1)
		var steps []step
		for i := 0; i+1 < len(traffic) && len(steps) < 100; i += 2 {
			cost := max(l.Capacity()/256, 1) * int64(traffic[i+1])
			steps = append(steps, step{int64(int8(traffic[i])) * unit, cost})
		}
		checkRate(t, l, steps)
	})
}
