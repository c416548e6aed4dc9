package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// Run is what one limit answered to one list of requests.
type Run struct {
	Limit     ratelimit.Limit
	Answers   []Answer
	Admitted  int           // requests
	Refused   int           // requests
	MaxInSpan int64         // the most units admitted in any half-open span of Limit.Length
	Left      []Level       // over time, also between requests
	Begin     time.Duration // of what is of interest
	End       time.Duration
}

// Answer is the decision on one request.
type Answer struct {
	At      time.Duration
	Cost    int64
	Allowed bool
	Never   bool          // the cost is above the capacity
	Left    int64         // whole units, after the decision
	Wait    time.Duration // refused: until it would be admitted
}

// Level is what a caller has left at a moment.
type Level struct {
	At   time.Duration
	Left int64
}

// levels is how often what is left is looked at between requests.
const levels = 400

// Play gives the requests, which stand in order, to a fresh store and notes the answers.
func Play(limit ratelimit.Limit, traffic []Request) (Run, error) {
	return playFrom(epoch, limit, traffic)
}

func playFrom(start time.Time, limit ratelimit.Limit, traffic []Request) (Run, error) {
	run := Run{Limit: limit}
	policy, err := ratelimit.NewPolicy(ratelimit.Policy{Name: limit.Algorithm.String(), Limit: limit, OnFailure: ratelimit.FailClosed})
	if err != nil {
		return run, err
	}
	run.Begin, run.End = span(traffic)
	desk := newDeskAt(start)
	step := max((run.End-run.Begin)/levels, time.Microsecond)
	look := run.Begin
	for _, r := range traffic {
		for ; look <= r.At; look += step {
			run.Left = append(run.Left, Level{At: look, Left: desk.left(look, policy)})
		}
		st := desk.take(r.At, ratelimit.Claim{Policy: policy, Key: caller, Cost: r.Cost})
		run.note(Answer{At: r.At, Cost: r.Cost, Allowed: st.Allowed, Never: st.Never, Left: st.Remaining, Wait: st.Wait})
	}
	for ; look <= run.End; look += step {
		run.Left = append(run.Left, Level{At: look, Left: desk.left(look, policy)})
	}
	run.MaxInSpan = maxInSpan(run.Answers, limit.Length())
	return run, nil
}

func (r *Run) note(a Answer) {
	r.Answers = append(r.Answers, a)
	r.Left = append(r.Left, Level{At: a.At, Left: a.Left})
	if a.Allowed {
		r.Admitted++
	} else {
		r.Refused++
	}
}

// span is from the first request until a little after the last.
func span(traffic []Request) (begin, end time.Duration) {
	if len(traffic) == 0 {
		return 0, time.Second
	}
	begin, end = traffic[0].At, traffic[len(traffic)-1].At
	return begin, end + max((end-begin)/50, time.Millisecond)
}

// maxInSpan is the most units admitted inside one half-open span [t, t+length), over all t.
func maxInSpan(answers []Answer, length time.Duration) int64 {
	var most, inside int64
	oldest := 0
	for _, a := range answers {
		for ; answers[oldest].At+length <= a.At; oldest++ {
			inside -= answers[oldest].units()
		}
		inside += a.units()
		most = max(most, inside)
	}
	return most
}

func (a Answer) units() int64 {
	if a.Allowed {
		return a.Cost
	}
	return 0
}

// caller is the one whose units are counted where an experiment has only one.
var caller = ratelimit.Key{Owner: "caller"}

// epoch is where windows of every length begin, and experiments too, if the date does not matter.
var epoch = time.Unix(0, 0).UTC()

// desk is the bank's memory store on a clock that is set by hand.
type desk struct {
	start time.Time
	now   time.Time
	store *ratelimit.Memory
}

func newDesk() *desk { return newDeskAt(epoch) }

func newDeskAt(start time.Time) *desk {
	d := &desk{start: start, now: start}
	d.store = ratelimit.NewMemory(ratelimit.MemoryOptions{Now: func() time.Time { return d.now }})
	return d
}

func (d *desk) set(at time.Duration) { d.now = d.start.Add(at) }

// take asks for one claim at a moment.
func (d *desk) take(at time.Duration, claim ratelimit.Claim) ratelimit.Status {
	d.set(at)
	var out [1]ratelimit.Status
	must(d.store.Take(context.Background(), []ratelimit.Claim{claim}, out[:]))
	return out[0]
}

func (d *desk) left(at time.Duration, policy *ratelimit.Policy) int64 {
	d.set(at)
	var out [1]ratelimit.Status
	must(d.store.Peek(context.Background(), []ratelimit.Claim{{Policy: policy, Key: caller}}, out[:]))
	return out[0].Remaining
}

// must stands where only a mistake in this package can fail: the memory store answers every valid claim.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("lab: %v", err))
	}
}

// MarshalJSON writes times in milliseconds and the limit as it is written on the command line.
func (r Run) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Algorithm string   `json:"algorithm"`
		Limit     string   `json:"limit"`
		Admitted  int      `json:"admitted"`
		Refused   int      `json:"refused"`
		SpanMS    float64  `json:"span_ms"`
		MaxInSpan int64    `json:"max_in_span"`
		Answers   []Answer `json:"answers"`
	}{r.Limit.Algorithm.String(), FormatLimit(r.Limit), r.Admitted, r.Refused, millis(r.Limit.Length()), r.MaxInSpan, r.Answers})
}

// MarshalJSON writes times in milliseconds.
func (a Answer) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		AtMS    float64 `json:"at_ms"`
		Cost    int64   `json:"cost"`
		Allowed bool    `json:"allowed"`
		Never   bool    `json:"never,omitempty"`
		Left    int64   `json:"left"`
		WaitMS  float64 `json:"wait_ms"`
	}{millis(a.At), a.Cost, a.Allowed, a.Never, a.Left, millis(a.Wait)})
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
