package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"time"
)

// Load is what a bank has to carry, and with what.
type Load struct {
	Rate        int64         // requests a second
	Instances   int64         // of the API
	Latency     time.Duration // a request is under way for this long
	Connections int64         // to the database
	QueryTime   time.Duration // a transfer occupies one of them for this long
	Share       int64         // percent of the ceiling that the global limit admits
}

// LessonLoad is a bank on pay day.
func LessonLoad() Load {
	return Load{
		Rate: 50_000, Instances: 20, Latency: 80 * time.Millisecond,
		Connections: 100, QueryTime: 5 * time.Millisecond, Share: 80,
	}
}

// Capacity is what follows from a Load. Loads are rounded up and capacities down, so that neither flatters.
type Capacity struct {
	Load                Load
	PerInstance         int64 // requests a second
	InFlight            int64 // requests at any moment
	InFlightPerInstance int64
	Ceiling             int64 // transfers a second that the connections can do
	Excess              int64 // requests a second above it
	GlobalLimit         int64 // transfers a second
}

// Plan does the arithmetic, or returns all that is wrong with the load, joined, each naming its flag.
func Plan(l Load) (Capacity, error) {
	if err := l.check(); err != nil {
		return Capacity{}, err
	}
	c := Capacity{Load: l, PerInstance: ceilDiv(l.Rate, 1, l.Instances)}
	c.InFlight = ceilDiv(l.Rate, l.Latency.Microseconds(), time.Second.Microseconds())
	c.InFlightPerInstance = ceilDiv(c.InFlight, 1, l.Instances)
	c.Ceiling = l.Connections * time.Second.Microseconds() / l.QueryTime.Microseconds()
	c.Excess = max(0, l.Rate-c.Ceiling)
	c.GlobalLimit = c.Ceiling * l.Share / 100
	return c, nil
}

func (l Load) check() error {
	const most = 1_000_000_000
	var faults []error
	number := func(flag string, n, most int64) {
		if n < 1 || n > most {
			faults = append(faults, fmt.Errorf("--%s: must be 1 to %s, is %d", flag, group(most), n))
		}
	}
	length := func(flag string, d time.Duration) {
		if d < time.Microsecond || d > time.Hour {
			faults = append(faults, fmt.Errorf("--%s: must be 1µs to 1h such as 80ms, is %v", flag, d))
		}
	}
	number("rate", l.Rate, most)
	number("instances", l.Instances, most)
	length("latency", l.Latency)
	number("connections", l.Connections, most)
	length("query-time", l.QueryTime)
	number("share", l.Share, 100)
	return errors.Join(faults...)
}

// ceilDiv is a * b / m, rounded up; the product may be wider than 64 bits.
func ceilDiv(a, b, m int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	q, r := bits.Div64(hi, lo, uint64(m))
	if r > 0 {
		q++
	}
	return int64(q)
}

// Report shows each step with its numbers.
func (c Capacity) Report() Report {
	l := c.Load
	r := Report{
		Title: fmt.Sprintf("%s requests/s reach %s instances and take %v each; a transfer holds one of %s database connections for %v.",
			group(l.Rate), group(l.Instances), l.Latency, group(l.Connections), l.QueryTime),
		Columns: []string{"what", "arithmetic", "result", "why"},
		Rows: [][]string{
			{"per instance", fmt.Sprintf("%s/s / %s", group(l.Rate), group(l.Instances)), group(c.PerInstance) + "/s", ""},
			{"in flight", fmt.Sprintf("%s/s x %v", group(l.Rate), l.Latency), group(c.InFlight), "Little's law: number = rate x time"},
			{"  of one instance", fmt.Sprintf("%s / %s", group(c.InFlight), group(l.Instances)), group(c.InFlightPerInstance), ""},
			{"ceiling", fmt.Sprintf("%s / %v", group(l.Connections), l.QueryTime), group(c.Ceiling) + "/s", "a connection does one transfer at a time"},
			{"excess", fmt.Sprintf("%s/s - %s/s", group(l.Rate), group(c.Ceiling)), group(c.Excess) + "/s", "more than the database can do"},
			{"global limit", fmt.Sprintf("%d %% of %s/s", l.Share, group(c.Ceiling)), group(c.GlobalLimit) + "/s", "room for a slow minute"},
		},
	}
	r.Lesson = fmt.Sprintf("If all of these are transfers, %s a second must be refused at once (503 with Retry-After) before "+
		"they queue: a queue that grows by %s a second is never worked off, and everybody in it times out.", group(c.Excess), group(c.Excess))
	if c.Excess == 0 {
		r.Lesson = "The database can do all of them, even if each is a transfer. The global limit is there for the day on which it cannot."
	}
	return r
}

// MarshalJSON writes times in milliseconds.
func (c Capacity) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Rate                int64   `json:"rate_per_second"`
		Instances           int64   `json:"instances"`
		LatencyMS           float64 `json:"latency_ms"`
		Connections         int64   `json:"connections"`
		QueryTimeMS         float64 `json:"query_time_ms"`
		Share               int64   `json:"share_percent"`
		PerInstance         int64   `json:"per_instance_per_second"`
		InFlight            int64   `json:"in_flight"`
		InFlightPerInstance int64   `json:"in_flight_per_instance"`
		Ceiling             int64   `json:"ceiling_per_second"`
		Excess              int64   `json:"excess_per_second"`
		GlobalLimit         int64   `json:"global_limit_per_second"`
	}{
		c.Load.Rate, c.Load.Instances, millis(c.Load.Latency), c.Load.Connections, millis(c.Load.QueryTime), c.Load.Share,
		c.PerInstance, c.InFlight, c.InFlightPerInstance, c.Ceiling, c.Excess, c.GlobalLimit,
	})
}

// group writes 50000 as 50,000.
func group(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
