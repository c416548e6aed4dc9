package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Request is one arrival.
type Request struct {
	At   time.Duration // since the beginning of the experiment, at which every window starts too
	Cost int64         // units, at least 0
}

// maxRequests bounds what an experiment is made of, so that a slip of the keyboard does not fill the memory.
const maxRequests = 100_000

// maxTime is how long an experiment lasts at most: far from where a duration overflows.
const maxTime = 366 * 24 * time.Hour

// Steady is rate requests a second at equal distances, for a while.
func Steady(rate float64, length time.Duration) ([]Request, error) {
	return clumps(1, rate, length)
}

// Burst is the same rate in clumps: size requests at one instant, then silence until the next clump.
func Burst(size int, rate float64, length time.Duration) ([]Request, error) {
	if size < 1 || size > maxRequests {
		return nil, fmt.Errorf("a burst has 1 to %d requests, not %d", maxRequests, size)
	}
	return clumps(size, rate, length)
}

func clumps(size int, rate float64, length time.Duration) ([]Request, error) {
	if err := checkTraffic(rate, length); err != nil {
		return nil, err
	}
	var traffic []Request
	for i := 0; ; i++ {
		at := seconds(float64(i*size) / rate)
		if at >= length || len(traffic) > maxRequests {
			return traffic, nil
		}
		traffic = append(traffic, slices.Repeat([]Request{{At: at, Cost: 1}}, size)...)
	}
}

// Poisson is what many independent callers make together: rate requests a second on average, at random instants. The
// same seed gives the same traffic.
func Poisson(rate float64, length time.Duration, seed uint64) ([]Request, error) {
	if err := checkTraffic(rate, length); err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // an experiment must be repeatable, not secret
	var traffic []Request
	for at := seconds(random.ExpFloat64() / rate); at < length && len(traffic) < maxRequests; {
		traffic = append(traffic, Request{At: at, Cost: 1})
		at += seconds(random.ExpFloat64() / rate)
	}
	return traffic, nil
}

func checkTraffic(rate float64, length time.Duration) error {
	switch {
	case !(rate > 0):
		return errors.New("the rate must be above 0, such as 2 or 0.5 requests a second")
	case length <= 0 || length > maxTime:
		return fmt.Errorf("the traffic must last longer than 0s and no longer than %v", maxTime)
	case rate*length.Seconds() > maxRequests:
		return fmt.Errorf("%g requests a second for %v are %.0f, more than the %d that can be shown; take a lower rate or less time",
			rate, length, rate*length.Seconds(), maxRequests)
	}
	return nil
}

// seconds is s seconds in whole microseconds, the resolution of every limit, or a time after all traffic.
func seconds(s float64) time.Duration {
	return time.Duration(min(s, 2*maxTime.Seconds())*1e6) * time.Microsecond
}

// ReadTraffic reads a request a line: the time since the beginning (1.5s, 200ms, or a bare number of seconds) and, if
// it is not 1, the cost. Lines may stand in any order; empty ones and those that begin with # are passed over.
//
//	# a transfer costs 5, a look-up 1
//	0s     5
//	0.25
//	1m30s  5
func ReadTraffic(r io.Reader) ([]Request, error) {
	var traffic []Request
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		request, err := parseRequest(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if len(traffic) == maxRequests {
			return nil, fmt.Errorf("line %d: more than %d requests", n, maxRequests)
		}
		traffic = append(traffic, request)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(traffic) == 0 {
		return nil, errors.New("no request in it; write one a line: a time such as 1.5s and, if it is not 1, a cost")
	}
	slices.SortStableFunc(traffic, func(a, b Request) int { return int(a.At - b.At) })
	return traffic, nil
}

func parseRequest(fields []string) (Request, error) {
	at, err := time.ParseDuration(fields[0])
	if err != nil {
		at, err = time.ParseDuration(fields[0] + "s")
	}
	if err != nil || at < 0 || at > maxTime {
		return Request{}, fmt.Errorf("%q is no time since the beginning; write 1.5s, 200ms or a number of seconds", fields[0])
	}
	request := Request{At: at.Truncate(time.Microsecond), Cost: 1}
	if len(fields) > 1 {
		request.Cost, err = strconv.ParseInt(fields[1], 10, 64)
	}
	if err != nil || request.Cost < 0 || len(fields) > 2 {
		return Request{}, fmt.Errorf("%q: after the time comes at most a cost, a whole number from 0", strings.Join(fields, " "))
	}
	return request, nil
}
