package lab

import (
	"encoding/json"
	"strconv"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// Daily is a day's quota around midnight.
type Daily struct {
	Experiment string      `json:"experiment"`
	Title      string      `json:"title"`
	Traffic    string      `json:"traffic"`
	Lesson     string      `json:"lesson"`
	Steps      []DailyStep `json:"steps"`
	run        Run
}

// DailyStep is one moment of it.
type DailyStep struct {
	At      time.Time
	What    string
	Allowed bool
	Left    int64
	Wait    time.Duration
}

// DailyQuota uses up a thousand a day an hour before midnight UTC, and comes back before and after.
func DailyQuota() Daily {
	day := time.Date(2026, time.September, 24, 0, 0, 0, 0, time.UTC)
	late := 23*time.Hour + 59*time.Minute + 30*time.Second
	usedUp := 22*time.Hour + 59*time.Minute + 30*time.Second
	var traffic []Request
	for range 1000 {
		traffic = append(traffic, Request{At: usedUp, Cost: 1})
	}
	traffic = append(traffic, Request{At: late, Cost: 1}, Request{At: late + 31*time.Second, Cost: 1})
	run, err := playFrom(day, ratelimit.Limit{Algorithm: ratelimit.FixedWindow, Quota: 1000, Period: 24 * time.Hour}, traffic)
	must(err)
	d := Daily{
		Experiment: "daily",
		Title:      "A quota around midnight",
		Traffic:    "1,000 a day in UTC, used up at 22:59:30",
		Lesson: "A quota is a promise about a calendar day, so a fixed window is right: everybody can say when it begins again. " +
			"The wait is the time to midnight, not a day from the last request.",
		run: run,
	}
	for _, step := range []struct {
		answer int
		what   string
	}{{999, "the thousandth request"}, {1000, "30 s before midnight"}, {1001, "31 s later"}} {
		a := run.Answers[step.answer]
		d.Steps = append(d.Steps, DailyStep{At: day.Add(a.At), What: step.what, Allowed: a.Allowed, Left: a.Left, Wait: a.Wait})
	}
	return d
}

// Report is a line for each step.
func (d Daily) Report() Report {
	r := Report{Title: d.Traffic, Columns: []string{"time", "", "answer", "left", "retry after"}, Lesson: d.Lesson}
	for _, s := range d.Steps {
		answer, wait := "admitted", "-"
		if !s.Allowed {
			answer, wait = "refused", short(s.Wait)
		}
		r.Rows = append(r.Rows, []string{s.At.Format("2006-01-02 15:04:05"), s.What, answer, strconv.FormatInt(s.Left, 10), wait})
	}
	return r
}

// Picture has one panel.
func (d Daily) Picture() Picture {
	return Picture{Title: d.Title, Subtitle: d.Traffic, Panels: []Panel{d.run.panel()}}
}

// MarshalJSON writes the wait in seconds, as Retry-After does.
func (s DailyStep) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		At         time.Time `json:"at"`
		What       string    `json:"what"`
		Allowed    bool      `json:"allowed"`
		Left       int64     `json:"left"`
		RetryAfter float64   `json:"retry_after_seconds,omitempty"`
	}{s.At, s.What, s.Allowed, s.Left, s.Wait.Seconds()})
}
