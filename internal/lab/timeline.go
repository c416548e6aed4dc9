package lab

import (
	"strconv"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// Timeline is one caller's requests, told one by one.
type Timeline struct {
	Experiment string `json:"experiment"`
	Title      string `json:"title"`
	Traffic    string `json:"traffic"`
	Lesson     string `json:"lesson"`
	Run        Run    `json:"run"`
}

// TokenTimeline empties a token bucket of 5 that gains one a second, and comes back too early, in time and late.
func TokenTimeline() Timeline {
	var traffic []Request
	for _, at := range []int{0, 0, 0, 0, 0, 0, 0, 500, 1000, 3000, 3000, 3000, 3000} {
		traffic = append(traffic, Request{At: time.Duration(at) * time.Millisecond, Cost: 1})
	}
	return Timeline{
		Experiment: "timeline",
		Title:      "A token bucket, request by request",
		Traffic:    "a token bucket that holds 5 and gains 1 a second",
		Lesson: "The wait is exact: whoever is told 500 ms at 500 ms is admitted at 1000 ms. Refused tries cost nothing. " +
			"A pause is saved up: two seconds of silence pay for two requests at once.",
		Run: play(ratelimit.Limit{Algorithm: ratelimit.TokenBucket, Quota: 1, Period: time.Second, Burst: 5}, traffic),
	}
}

// Report is a line for each request.
func (t Timeline) Report() Report {
	r := Report{Title: t.Traffic, Columns: []string{"at ms", "answer", "left", "wait ms"}, Lesson: t.Lesson}
	for _, a := range t.Run.Answers {
		answer, wait := "admitted", "-"
		if !a.Allowed {
			answer, wait = "refused", strconv.FormatInt(a.Wait.Milliseconds(), 10)
		}
		r.Rows = append(r.Rows, []string{strconv.FormatInt(a.At.Milliseconds(), 10), answer, strconv.FormatInt(a.Left, 10), wait})
	}
	return r
}

// Picture has one panel.
func (t Timeline) Picture() Picture {
	return Picture{Title: t.Title, Subtitle: t.Traffic, Panels: []Panel{t.Run.panel()}}
}
