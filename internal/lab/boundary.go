package lab

import (
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// Boundary sends 100 requests in the last second of a minute and 100 in the first of the next, to 100 a minute.
func Boundary() Comparison {
	var traffic []Request
	for _, from := range []time.Duration{59 * time.Second, time.Minute} {
		for i := range 100 {
			traffic = append(traffic, Request{At: from + time.Duration(i)*10*time.Millisecond, Cost: 1})
		}
	}
	hundred := ratelimit.Limit{Quota: 100, Period: time.Minute}
	return Comparison{
		Experiment: "boundary",
		Title:      "At the edge between two windows",
		Traffic:    "200 requests between 59 s and 61 s, 100 per minute",
		Lesson: "A fixed window begins again at each full minute, so 200 pass within two seconds. A sliding log looks at the " +
			"minute before each request and cannot be fooled by where it begins.",
		Runs: []Run{
			play(with(hundred, ratelimit.FixedWindow), traffic),
			play(with(hundred, ratelimit.SlidingLog), traffic),
		},
	}
}
