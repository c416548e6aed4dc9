package lab

import (
	"fmt"
	"strconv"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// Sweep is how many keys the store holds as time goes by.
type Sweep struct {
	Experiment string      `json:"experiment"`
	Title      string      `json:"title"`
	Traffic    string      `json:"traffic"`
	Lesson     string      `json:"lesson"`
	Steps      []SweepStep `json:"steps"`
}

// SweepStep is one sweep.
type SweepStep struct {
	AtSeconds int `json:"at_seconds"`
	Before    int `json:"entries_before"`
	After     int `json:"entries_after"`
}

// SweepMemory lets 1,000 addresses take one token, and one address all of its ten, and sweeps the store three times.
func SweepMemory() Sweep {
	policy := fixed(ratelimit.Policy{Name: "ten", OnFailure: ratelimit.FailClosed, Limit: ratelimit.Limit{
		Algorithm: ratelimit.TokenBucket, Quota: 1, Period: time.Second, Burst: 10,
	}})
	d := newDesk()
	for i := range 1000 {
		address := ratelimit.Key{Owner: fmt.Sprintf("10.0.%d.%d", i/250, i%250)}
		d.take(0, ratelimit.Claim{Policy: policy, Key: address, Cost: 1})
	}
	d.take(5*time.Second, ratelimit.Claim{Policy: policy, Key: ratelimit.Key{Owner: "198.51.100.66"}, Cost: 10})
	s := Sweep{
		Experiment: "sweep",
		Title:      "What may be forgotten",
		Traffic:    "bucket of 10 at 1/s: 1,000 addresses take 1 at 0 s, one takes 10 at 5 s",
		Lesson: "A full bucket says nothing that an absent one does not, so it may go. One that is being refused never goes: a " +
			"flood of new addresses cannot make the store forget it.",
	}
	for _, at := range []int{5, 9, 15} {
		d.set(time.Duration(at) * time.Second)
		before := d.store.Len()
		d.store.Sweep()
		s.Steps = append(s.Steps, SweepStep{AtSeconds: at, Before: before, After: d.store.Len()})
	}
	return s
}

// Report is a line for each sweep.
func (s Sweep) Report() Report {
	r := Report{Title: s.Traffic, Columns: []string{"sweep at s", "entries before", "entries after"}, Lesson: s.Lesson}
	for _, step := range s.Steps {
		r.Rows = append(r.Rows, []string{strconv.Itoa(step.AtSeconds), strconv.Itoa(step.Before), strconv.Itoa(step.After)})
	}
	return r
}

// Picture has two bars for each sweep.
func (s Sweep) Picture() Picture {
	panel := BarPanel{Unit: "entries"}
	for _, step := range s.Steps {
		panel.Bars = append(panel.Bars,
			Bar{Label: fmt.Sprintf("%d s: before", step.AtSeconds), Admitted: step.Before},
			Bar{Label: fmt.Sprintf("%d s: after", step.AtSeconds), Admitted: step.After})
	}
	return Picture{Title: s.Title, Subtitle: s.Traffic, Panels: []Panel{panel}}
}
