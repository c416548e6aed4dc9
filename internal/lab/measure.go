package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Stage is what a bank did for so many connections that each ask again as soon as they are answered.
type Stage struct {
	Connections int
	PerSecond   float64 // answers
	P50, P99    time.Duration
	Refused     int64 // transfers that the bank turned away: a stage with any is above the ceiling
}

// Ladder is how many connections a machine's ceiling is looked for with, one stage after the other.
var Ladder = []int{8, 16, 32, 64, 128, 256, 512, 1024}

// rise is how much more a stage must do than the best before it to count as more at all: less is noise.
const rise = 1.05

// Levelled reports whether more connections have stopped to help: transfers were refused, or the last two stages did not
// rise above the best one before them.
func Levelled(stages []Stage) bool {
	n := len(stages)
	if n > 0 && stages[n-1].Refused > 0 {
		return true
	}
	return n > 2 && fastest(stages[n-2:]).PerSecond < rise*fastest(stages[:n-2]).PerSecond
}

// fastest is the best of the stages that refused nothing; the zero Stage if there is none.
func fastest(stages []Stage) (best Stage) {
	for _, s := range stages {
		if s.Refused == 0 && s.PerSecond > best.PerSecond {
			best = s
		}
	}
	return best
}

// Measured is the ceiling of a machine, and the global limit that follows.
type Measured struct {
	Stages      []Stage
	Ceiling     int64 // transfers a second that the best stage did
	Share       int64 // percent of the ceiling that the global limit admits
	GlobalLimit int64 // transfers a second

	// AtLimit is what callers who come when they please would have felt at that rate: latencies count from the moment a
	// transfer was due.
	AtLimit Stage
}

// ErrTooBusy says that a machine has other things to do.
var ErrTooBusy = errors.New("transfers were refused from the first stage on: the machine is too busy to be measured")

// Measure draws the conclusion from stages. Best is the one that reached the ceiling.
func Measure(stages []Stage, share int64) (m Measured, best Stage, err error) {
	if best = fastest(stages); best.PerSecond == 0 {
		return Measured{}, Stage{}, ErrTooBusy
	}
	m = Measured{Stages: stages, Share: share, Ceiling: int64(best.PerSecond)}
	m.GlobalLimit = max(m.Ceiling*share/100, 1)
	return m, best, nil
}

// Report shows the stages and what follows from them.
func (m Measured) Report() Report {
	r := Report{
		Title:   "What this machine's bank and database do together, limits, credentials and log included:",
		Columns: []string{"connections", "transfers/s", "p50 ms", "p99 ms", ""},
	}
	best := fastest(m.Stages)
	for _, s := range m.Stages {
		note := ""
		if s == best {
			note = "the ceiling"
		}
		r.Rows = append(r.Rows, s.row(note))
	}
	r.Rows = append(r.Rows, m.AtLimit.row("paced at the global limit"))
	r.Lesson = fmt.Sprintf("More connections than that only wait longer. %d %% of the ceiling is %s transfers a second: room for a slow minute. "+
		"The latencies of the last line are what callers feel who do not wait for one another; those above it are of callers who do.",
		m.Share, group(m.GlobalLimit))
	return r
}

func (s Stage) row(note string) []string {
	if s.Refused > 0 {
		note = strings.TrimPrefix(fmt.Sprintf("%s, %s refused", note, group(s.Refused)), ", ")
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", millis(d)) }
	return []string{group(int64(s.Connections)), group(int64(s.PerSecond)), ms(s.P50), ms(s.P99), note}
}

// Policy is the line for the policy file.
func (m Measured) Policy() string {
	return fmt.Sprintf("global-transfers: { algorithm: token-bucket, quota: %d, period: 1s, burst: %d, on_failure: share, private: true }",
		m.GlobalLimit, m.GlobalLimit)
}

// MarshalJSON writes times in milliseconds.
func (m Measured) MarshalJSON() ([]byte, error) {
	type stage struct {
		Connections int     `json:"connections"`
		PerSecond   int64   `json:"transfers_per_second"`
		P50         float64 `json:"p50_ms"`
		P99         float64 `json:"p99_ms"`
		Refused     int64   `json:"refused"`
	}
	shape := func(s Stage) stage {
		return stage{s.Connections, int64(s.PerSecond), millis(s.P50), millis(s.P99), s.Refused}
	}
	out := struct {
		Stages      []stage `json:"stages"`
		Ceiling     int64   `json:"ceiling_per_second"`
		Share       int64   `json:"share_percent"`
		GlobalLimit int64   `json:"global_limit_per_second"`
		AtLimit     stage   `json:"at_the_limit"`
		Policy      string  `json:"policy"`
	}{nil, m.Ceiling, m.Share, m.GlobalLimit, shape(m.AtLimit), m.Policy()}
	for _, s := range m.Stages {
		out.Stages = append(out.Stages, shape(s))
	}
	return json.Marshal(out)
}
