package bench

import (
	"cmp"
	"slices"
	"syscall"
	"time"
)

// Contender is one row of a table.
type Contender struct {
	Name string
	Work func(n int) // does n operations
}

// Result is what the rounds found out about a contender, per operation.
type Result struct {
	Name string
	Wall time.Duration // median of the slices
	CPU  time.Duration // median of the whole process's time on all cores, client and kernel included
	Best time.Duration // the fastest slice

	// Speed is how many operations it does while the first contender does one: the median of the rounds, in each of which
	// the two were measured within the same moment. CPUSpeed is the same by CPU time.
	Speed, CPUSpeed float64
}

// Rounds lets contenders take turns: in each round each of them works for about a slice of time, in an order that
// changes from round to round. after is called after each slice.
func Rounds(contenders []Contender, rounds int, slice time.Duration, after func()) []Result {
	counts := make([]int, len(contenders))
	for i, c := range contenders {
		counts[i] = calibrate(c.Work, slice)
	}
	walls, cpus := make([][]time.Duration, len(contenders)), make([][]time.Duration, len(contenders))
	for round := range rounds {
		for i := range contenders {
			i = (i + round) % len(contenders)
			wall, cpu := timed(contenders[i].Work, counts[i])
			walls[i], cpus[i] = append(walls[i], wall), append(cpus[i], cpu)
			after()
		}
	}
	results := make([]Result, len(contenders))
	for i, c := range contenders {
		results[i] = Result{
			Name: c.Name, Wall: median(walls[i]), CPU: median(cpus[i]), Best: slices.Min(walls[i]),
			Speed: speed(walls[0], walls[i]), CPUSpeed: speed(cpus[0], cpus[i]),
		}
	}
	return results
}

// calibrate returns how many operations take about a slice of time. The best of some tries counts: a busy machine makes
// some of them look slow, and a slice of few operations measures its own beginning and end.
func calibrate(work func(int), slice time.Duration) int {
	n := 1
	for wall, _ := timed(work, n); wall*time.Duration(n) < slice/8; wall, _ = timed(work, n) {
		n *= 2
	}
	best := time.Duration(1 << 62)
	for range 5 {
		wall, _ := timed(work, n)
		best = min(best, wall)
	}
	return max(n, int(slice/best))
}

// timed returns the time of one operation among n.
func timed(work func(int), n int) (wall, cpu time.Duration) {
	start, used := time.Now(), cpuTime()
	work(n)
	return max(time.Since(start)/time.Duration(n), 1), (cpuTime() - used) / time.Duration(n)
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails only for a wrong argument
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func speed(first, own []time.Duration) float64 {
	ratios := make([]float64, len(own))
	for i := range own {
		ratios[i] = float64(first[i]) / float64(max(own[i], 1))
	}
	return median(ratios)
}

func median[T cmp.Ordered](values []T) T {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}
