package main

import (
	"cmp"
	"math"
	"slices"
	"time"

	"example.com/bankapi/internal/load"
)

// sample is what one slice of a contender came to.
type sample struct {
	perSecond     float64
	p50, p99, top time.Duration // top is the 99.9th percentile
	done          int64         // transfers in all, outside the measured time too
	cpu           cost
	odd           error // not every request was answered as it should be
}

// cost is processor time, of all transfers done.
type cost struct{ client, bank, database time.Duration }

// processors is the processor time of one transfer, everybody's together.
func (s sample) processors() time.Duration {
	return (s.cpu.client + s.cpu.bank + s.cpu.database) / time.Duration(max(s.done, 1))
}

// ofLoad is what a load came to, of which every answer should have the status.
func ofLoad(result load.Result, status int) sample {
	return sample{
		odd:       result.Expect(status),
		perSecond: result.PerSecond(), p50: result.Latency(0.5), p99: result.Latency(0.99), top: result.Latency(0.999),
		done: result.Answers[status],
	}
}

func newSample(latencies []time.Duration, length time.Duration, done int64) sample {
	slices.Sort(latencies)
	at := func(q float64) time.Duration {
		if len(latencies) == 0 {
			return 0
		}
		return latencies[max(int(math.Ceil(q*float64(len(latencies))))-1, 0)]
	}
	return sample{perSecond: float64(len(latencies)) / length.Seconds(), p50: at(0.5), p99: at(0.99), top: at(0.999), done: done}
}

// medianOf is the middle of what the samples have; of an even number the larger of the two in the middle.
func medianOf[T cmp.Ordered](samples []sample, value func(sample) T) T {
	var values []T
	for _, s := range samples {
		values = append(values, value(s))
	}
	return median(values)
}

func median[T cmp.Ordered](values []T) T {
	var none T
	if len(values) == 0 {
		return none
	}
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}
