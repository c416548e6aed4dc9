package lab

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// CalendarDays is what a day's and a month's quota make of windows that are not all of one length.
type CalendarDays struct {
	Experiment string           `json:"experiment"`
	Title      string           `json:"title"`
	Traffic    string           `json:"traffic"`
	Lesson     string           `json:"lesson"`
	Windows    []CalendarWindow `json:"windows"`
}

// CalendarWindow is one day or month with a request at its first instant and each hour after.
type CalendarWindow struct {
	Zone   *time.Location
	Limit  ratelimit.Limit
	Begins time.Time     // in the zone
	Lasts  time.Duration // until the limit said that all units are back
	run    Run
}

// Units an hour's traffic uses up in the evening of a day, and late in a month.
const (
	unitsADay   = 20
	unitsAMonth = 500
)

// CalendarWindows plays a request an hour to 20 a calendar day and 500 a calendar month. Of each zone it shows the first
// day and month of a year and all that have another number of hours than the calendar says. Where each window ends is what
// the limit itself answers.
func CalendarWindows(year int, zones []*time.Location) CalendarDays {
	c := CalendarDays{
		Experiment: "calendar",
		Title:      "Days and months in a time zone",
		Traffic:    fmt.Sprintf("a request an hour; %d a day and %d a month by the calendar of the place, in %d", unitsADay, unitsAMonth, year),
		Lesson: "A day ends at midnight where the customer lives. Where clocks are changed it has 23 or 25 hours, and its month " +
			"an hour less or more: the first one refused is told the exact wait, and who comes at the end is admitted.",
	}
	for _, zone := range zones {
		for _, calendar := range []ratelimit.Calendar{ratelimit.Day, ratelimit.Month} {
			c.Windows = append(c.Windows, remarkable(year, zone, calendar)...)
		}
	}
	return c
}

// remarkable walks through the windows of a year.
func remarkable(year int, zone *time.Location, calendar ratelimit.Calendar) []CalendarWindow {
	limit := ratelimit.Limit{Algorithm: ratelimit.FixedWindow, Quota: unitsADay, Calendar: calendar, Zone: zone}
	if calendar == ratelimit.Month {
		limit.Quota = unitsAMonth
	}
	var found []CalendarWindow
	for at := time.Date(year, time.January, 1, 0, 0, 0, 0, zone); at.Year() == year; {
		w := CalendarWindow{Zone: zone, Limit: limit, Begins: at, Lasts: lengthAt(at, limit)}
		if len(found) == 0 || w.Lasts != w.nominal() {
			w.play()
			found = append(found, w)
		}
		at = at.Add(w.Lasts)
	}
	return found
}

// lengthAt is the reset of a limit touched for the first time.
func lengthAt(at time.Time, limit ratelimit.Limit) time.Duration {
	policy, err := ratelimit.NewPolicy(ratelimit.Policy{Name: limit.Calendar.String(), Limit: limit, OnFailure: ratelimit.FailClosed})
	must(err)
	return newDeskAt(at).take(0, ratelimit.Claim{Policy: policy, Key: caller, Cost: 1}).Reset
}

// nominal is how long a window lasts by its dates alone.
func (w CalendarWindow) nominal() time.Duration {
	begin := time.Date(w.Begins.Year(), w.Begins.Month(), w.Begins.Day(), 0, 0, 0, 0, time.UTC)
	if w.Limit.Calendar == ratelimit.Month {
		return begin.AddDate(0, 1, 0).Sub(begin)
	}
	return 24 * time.Hour
}

func (w *CalendarWindow) play() {
	var traffic []Request
	for at := time.Duration(0); at <= w.Lasts; at += time.Hour { // the last one is the next window's first
		traffic = append(traffic, Request{At: at, Cost: 1})
	}
	var err error
	w.run, err = playFrom(w.Begins, w.Limit, traffic)
	must(err)
}

// inside are the answers of the window itself.
func (w CalendarWindow) inside() (admitted, refused int, firstWait time.Duration) {
	for _, a := range w.run.Answers {
		switch {
		case a.At >= w.Lasts:
		case a.Allowed:
			admitted++
		default:
			if refused++; refused == 1 {
				firstWait = a.Wait
			}
		}
	}
	return admitted, refused, firstWait
}

// afterwards is what the request at the end of the window met.
func (w CalendarWindow) afterwards() string {
	last := w.run.Answers[len(w.run.Answers)-1]
	if last.At != w.Lasts {
		return "-" // no whole number of hours
	}
	return answer(last.Allowed)
}

func answer(allowed bool) string {
	if allowed {
		return "admitted"
	}
	return "refused"
}

func (w CalendarWindow) name() string {
	if w.Limit.Calendar == ratelimit.Month {
		return w.Begins.Format("January")
	}
	return w.Begins.Format("2 January")
}

// Report is a line for each window.
func (c CalendarDays) Report() Report {
	r := Report{
		Title: c.Traffic, Lesson: c.Lesson,
		Columns: []string{"zone", "window", "begins", "ends", "hours", "admitted", "refused", "first wait", "at its end"},
	}
	const instant = "01-02 15:04 -07:00"
	for _, w := range c.Windows {
		admitted, refused, wait := w.inside()
		r.Rows = append(r.Rows, []string{
			w.Zone.String(), w.name(), w.Begins.Format(instant), w.Begins.Add(w.Lasts).Format(instant),
			strconv.FormatFloat(w.Lasts.Hours(), 'g', -1, 64), strconv.Itoa(admitted), strconv.Itoa(refused), short(wait), w.afterwards(),
		})
	}
	return r
}

// Picture has a panel for each day.
func (c CalendarDays) Picture() Picture {
	p := Picture{Title: c.Title, Subtitle: c.Traffic}
	for _, w := range c.Windows {
		if w.Limit.Calendar != ratelimit.Day {
			continue
		}
		panel := w.run.panel()
		panel.Title = fmt.Sprintf("%s, %s: %s", w.Zone, w.name(), short(w.Lasts))
		panel.Edges = []time.Duration{w.Lasts}
		p.Panels = append(p.Panels, panel)
	}
	return p
}

// MarshalJSON writes lengths and waits in seconds, as Retry-After does.
func (w CalendarWindow) MarshalJSON() ([]byte, error) {
	admitted, refused, wait := w.inside()
	return json.Marshal(struct {
		Zone      string    `json:"zone"`
		Window    string    `json:"window"`
		Limit     string    `json:"limit"`
		Begins    time.Time `json:"begins"`
		Ends      time.Time `json:"ends"`
		Seconds   float64   `json:"seconds"`
		Admitted  int       `json:"admitted"`
		Refused   int       `json:"refused"`
		FirstWait float64   `json:"first_retry_after_seconds,omitempty"`
		AtEnd     string    `json:"at_end"`
	}{
		w.Zone.String(), w.Limit.Calendar.String(), FormatLimit(w.Limit), w.Begins, w.Begins.Add(w.Lasts), w.Lasts.Seconds(),
		admitted, refused, wait.Seconds(), w.afterwards(),
	})
}
