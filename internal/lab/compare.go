package lab

import (
	"math"
	"strconv"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// Comparison is what several limits, all with one Period, made of the same requests.
type Comparison struct {
	Experiment string `json:"experiment"`
	Title      string `json:"title"`
	Traffic    string `json:"traffic"`
	Lesson     string `json:"lesson,omitempty"`
	Runs       []Run  `json:"runs"`
}

// Compare sends 25 requests in two seconds over the edge between two windows, to 10 per 10 s by four algorithms.
func Compare() Comparison {
	var traffic []Request
	for i := range 25 {
		at := 9000 + int(math.Round(float64(i)*2000/24))
		traffic = append(traffic, Request{At: time.Duration(at) * time.Millisecond, Cost: 1})
	}
	ten := ratelimit.Limit{Quota: 10, Period: 10 * time.Second}
	c := Comparison{
		Experiment: "compare",
		Title:      "The same requests, four algorithms",
		Traffic:    "25 requests between 9 s and 11 s, 10 per 10 s; the bucket holds 10 and gains 1 a second",
		Lesson: "The fixed window forgets everything at 10 s and lets twice the limit through within two seconds. The log " +
			"never exceeds it and remembers each request. The counter estimates the log from two numbers. The bucket " +
			"admits a burst of 10 and what flows in meanwhile, which is what it promises.",
	}
	for _, algorithm := range compared {
		c.Runs = append(c.Runs, play(with(ten, algorithm), traffic))
	}
	return c
}

// compared are the algorithms in the order in which they are explained.
var compared = []ratelimit.Algorithm{
	ratelimit.FixedWindow, ratelimit.SlidingLog, ratelimit.SlidingCounter, ratelimit.TokenBucket,
}

func with(limit ratelimit.Limit, a ratelimit.Algorithm) ratelimit.Limit {
	limit.Algorithm = a
	return limit
}

// play is Play for the limits written in this package.
func play(limit ratelimit.Limit, traffic []Request) Run {
	run, err := Play(limit, traffic)
	must(err)
	return run
}

// Report is a line for each limit.
func (c Comparison) Report() Report {
	r := Report{Title: c.Traffic, Lesson: c.Lesson}
	if len(c.Runs) > 0 {
		most := "max in any " + short(c.Runs[0].Limit.Period)
		r.Columns = []string{"algorithm", "limit", "admitted", "refused", most, "longest wait"}
	}
	for _, run := range c.Runs {
		r.Rows = append(r.Rows, []string{
			run.Limit.Algorithm.String(), FormatLimit(run.Limit), strconv.Itoa(run.Admitted), strconv.Itoa(run.Refused),
			strconv.FormatInt(run.MaxInSpan, 10), run.longestWait(),
		})
	}
	return r
}

func (r Run) longestWait() string {
	var longest time.Duration
	for _, a := range r.Answers {
		if a.Never {
			return "never"
		}
		longest = max(longest, a.Wait)
	}
	if longest == 0 {
		return "-"
	}
	return longest.String()
}

// Picture has a panel for each limit.
func (c Comparison) Picture() Picture {
	p := Picture{Title: c.Title, Subtitle: c.Traffic}
	for _, run := range c.Runs {
		p.Panels = append(p.Panels, run.panel())
	}
	return p
}
