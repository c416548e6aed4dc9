package lab

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// Property is the worst that random traffic could make of two limits.
type Property struct {
	Experiment string `json:"experiment"`
	Title      string `json:"title"`
	Traffic    string `json:"traffic"`
	Lesson     string `json:"lesson"`
	Limit      int64  `json:"limit"`
	Seeds      []Seed `json:"seeds"`
}

// Seed is one stream of random requests.
type Seed struct {
	Seed        int64 `json:"seed"`
	SlidingLog  int64 `json:"sliding_log"`  // most admitted in any 10 s
	FixedWindow int64 `json:"fixed_window"` // the same
}

// propertySteps is the number of requests of one seed.
const propertySteps = 2000

// CheckProperty sends random requests, the same for the same seed, to 20 per 10 s, and looks for the worst 10 s.
func CheckProperty(seeds []int64) Property {
	limit := ratelimit.Limit{Quota: 20, Period: 10 * time.Second}
	p := Property{
		Experiment: "property",
		Title:      "Looking for ten seconds that break the limit",
		Traffic:    fmt.Sprintf("%d requests up to 400 ms apart, at random, for each seed; 20 per 10 s", propertySteps),
		Lesson: "\"Never more than 20 in any 10 s\" is a property: it must hold wherever one looks. Random requests find in a " +
			"moment where the fixed window breaks it, and never where the log does.",
		Limit: limit.Quota,
	}
	for _, seed := range seeds {
		traffic := random(seed)
		p.Seeds = append(p.Seeds, Seed{
			Seed:        seed,
			SlidingLog:  play(with(limit, ratelimit.SlidingLog), traffic).MaxInSpan,
			FixedWindow: play(with(limit, ratelimit.FixedWindow), traffic).MaxInSpan,
		})
	}
	return p
}

// random is the lesson's generator, x -> (x * 1103515245 + 12345) mod 2^31, counted in float64 as a script would: the
// product is rounded, so integers give other numbers.
func random(seed int64) []Request {
	const modulus = 1 << 31
	x := float64(seed)
	var at time.Duration
	var traffic []Request
	for range propertySteps {
		product := float64(x * 1103515245) // the conversion forbids the processor to fuse this with the sum
		x = math.Mod(product+12345, modulus)
		at += time.Duration(math.Floor(x/modulus*400)) * time.Millisecond
		traffic = append(traffic, Request{At: at, Cost: 1})
	}
	return traffic
}

// Report is a line for each seed.
func (p Property) Report() Report {
	r := Report{Title: p.Traffic, Columns: []string{"seed", "sliding-log, worst 10s", "fixed-window, worst 10s", "property"}, Lesson: p.Lesson}
	for _, s := range p.Seeds {
		verdict := "holds for both"
		switch {
		case s.SlidingLog > p.Limit:
			verdict = "broken by both"
		case s.FixedWindow > p.Limit:
			verdict = "broken by fixed-window"
		}
		r.Rows = append(r.Rows, []string{
			strconv.FormatInt(s.Seed, 10), strconv.FormatInt(s.SlidingLog, 10), strconv.FormatInt(s.FixedWindow, 10), verdict,
		})
	}
	return r
}

// Picture has two bars for each seed.
func (p Property) Picture() Picture {
	panel := BarPanel{Title: "most admitted in any 10 s", Unit: "requests", Limit: int(p.Limit)}
	for _, s := range p.Seeds {
		panel.Bars = append(panel.Bars,
			Bar{Label: fmt.Sprintf("seed %d: sliding-log", s.Seed), Admitted: int(s.SlidingLog)},
			Bar{Label: fmt.Sprintf("seed %d: fixed-window", s.Seed), Admitted: int(s.FixedWindow)})
	}
	return Picture{Title: p.Title, Subtitle: p.Traffic, Panels: []Panel{panel}}
}
