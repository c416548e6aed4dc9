package main

import (
	"fmt"
	"strconv"
	"time"

	"example.com/bankapi/bench"
)

var titles = map[string]string{
	"uniform": "Uniform: between any two of the accounts",
	"hot":     "Hot: from any account to one and the same",
	"alone":   "Alone: one client, one transfer at a time",
}

// print writes the table of a scenario.
func (c contestResult) print(scenario string) {
	fmt.Printf("\n### %s\n\n", titles[scenario])
	bench.Table("contender", "clients", "transfers/s", "p50 ms", "p99 ms", "p99.9 ms", "against pgbench", "by CPU", "client CPU µs", "bank CPU µs", "PostgreSQL CPU µs")
	for i, one := range c.contenders {
		s := c.samples[i]
		bench.Row(one.name, strconv.Itoa(one.clients), fmt.Sprintf("%.0f", medianOf(s, rate)),
			millis(medianOf(s, p50)), millis(medianOf(s, p99)), millis(medianOf(s, top)), fmt.Sprintf("%.2f", c.ratio(i)), fmt.Sprintf("%.2f", c.ratioByCPU(i)),
			each(s, func(c cost) time.Duration { return c.client }),
			each(s, func(c cost) time.Duration { return c.bank }),
			each(s, func(c cost) time.Duration { return c.database }))
	}
}

// ratio is how many transfers contender i makes while the first one makes one: the median of the rounds.
func (c contestResult) ratio(i int) float64 {
	var ratios []float64
	for round, s := range c.samples[i] {
		ratios = append(ratios, s.perSecond/max(c.samples[0][round].perSecond, 1))
	}
	return median(ratios)
}

// ratioByCPU is how many transfers contender i makes with the processor time that the first one needs for one, client and
// PostgreSQL included: what the ratio would be if neither ever waited. 0 where the kernel does not tell.
func (c contestResult) ratioByCPU(i int) float64 {
	var ratios []float64
	for round, s := range c.samples[i] {
		if one := s.processors(); one > 0 {
			ratios = append(ratios, float64(c.samples[0][round].processors())/float64(one))
		}
	}
	return median(ratios)
}

// find returns the index of a contender, -1 if it did not take part.
func (c contestResult) find(kind string, clients int) int {
	for i, one := range c.contenders {
		if one.kind == kind && one.clients == clients {
			return i
		}
	}
	return -1
}

func rate(s sample) float64      { return s.perSecond }
func p50(s sample) time.Duration { return s.p50 }
func p99(s sample) time.Duration { return s.p99 }
func top(s sample) time.Duration { return s.top }

// each is processor time for one transfer; nothing where there was none.
func each(samples []sample, of func(cost) time.Duration) string {
	median := medianOf(samples, func(s sample) time.Duration { return of(s.cpu) / time.Duration(max(s.done, 1)) })
	if median == 0 {
		return ""
	}
	return strconv.FormatInt(median.Microseconds(), 10)
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }
