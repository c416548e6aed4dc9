package load

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Result is what came of a run.
type Result struct {
	Answers map[int]int64 // by status: every one, also of the warm-up and after the end
	Time    time.Duration // that was measured

	answered  int             // within Time
	latencies []time.Duration // of the requests that count, sorted
}

// PerSecond is how many requests were answered in a second of the time measured.
func (r Result) PerSecond() float64 { return float64(r.answered) / r.Time.Seconds() }

// Latency is the time within which a share q of the requests was answered, 0.5 for the median. It is exact: every
// latency was kept. Nothing answered is 0.
func (r Result) Latency(q float64) time.Duration {
	if len(r.latencies) == 0 {
		return 0
	}
	i := int(math.Ceil(q*float64(len(r.latencies)))) - 1
	return r.latencies[min(max(i, 0), len(r.latencies)-1)]
}

// Expect returns an error that counts the answers by status unless all of them have the one expected.
func (r Result) Expect(status int) error {
	if len(r.Answers) == 1 && r.Answers[status] > 0 {
		return nil
	}
	var counts []string
	for _, s := range slices.Sorted(maps.Keys(r.Answers)) {
		counts = append(counts, fmt.Sprintf("%d of status %d", r.Answers[s], s))
	}
	return fmt.Errorf("want answers of status %d alone, got %s", status, strings.Join(append(counts, "no others"), ", "))
}

// tally is a Result in the making, of one connection.
type tally struct {
	answers   map[int]int64
	answered  int
	latencies []time.Duration
}

func sum(tallies []tally, measured time.Duration) Result {
	r := Result{Answers: map[int]int64{}, Time: measured}
	for _, t := range tallies {
		for status, n := range t.answers {
			r.Answers[status] += n
		}
		r.answered += t.answered
		r.latencies = append(r.latencies, t.latencies...)
	}
	slices.Sort(r.latencies)
	return r
}
