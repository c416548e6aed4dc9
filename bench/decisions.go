package bench

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

// Keys are n users.
func Keys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = "usr_" + strconv.Itoa(i)
	}
	return keys
}

// Known lets a limiter meet every key once, so that what is measured afterwards is the life of a server that is up.
func Known(l Limiter, keys []string) Decide {
	decide := l.New()
	for _, key := range keys {
		_ = decide(key)
	}
	return decide
}

// Each decides n times, going through the keys in steps that no cache foresees.
func Each(decide Decide, keys []string) func(n int) {
	i := 0
	return func(n int) {
		for range n {
			i = (i + 7919) % len(keys)
			_ = decide(keys[i])
		}
	}
}

// Crowd decides n times on one key, on goroutines at once, and counts the errors.
func Crowd(decide Decide, goroutines int, failed *atomic.Int64) func(n int) {
	return func(n int) {
		InParallel(n, goroutines, func(int) {
			if decide("usr_1") != nil {
				failed.Add(1)
			}
		})
	}
}

// InParallel does n operations in about equal parts on goroutines, each of which is told its number.
func InParallel(n, goroutines int, do func(goroutine int)) {
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for range (n + g) / goroutines {
				do(g)
			}
		})
	}
	all.Wait()
}

// Allocations are what one decision on a known key allocates: how often, and how many bytes.
func Allocations(work func(n int)) (objects, bytes float64) {
	const n = 10_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work(n)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / n, float64(after.TotalAlloc-before.TotalAlloc) / n
}

// BytesPerKey is what a limiter keeps alive for each of n keys, its fixed part included. A key counts where the limiter
// holds on to it.
func BytesPerKey(l Limiter, n int) int64 {
	before := heap()
	decide := l.New()
	for i := range n {
		_ = decide("usr_" + strconv.Itoa(i))
	}
	after := heap()
	runtime.KeepAlive(decide)
	return max(0, after-before) / int64(n)
}

func heap() int64 {
	var m runtime.MemStats
	for range 3 { // pools are emptied by the second collection
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
