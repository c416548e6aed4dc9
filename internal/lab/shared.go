package lab

import (
	"context"
	"fmt"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// Shared is what instances admit that count by themselves, and what they admit with one counter.
type Shared struct {
	Experiment string `json:"experiment"`
	Title      string `json:"title"`
	Traffic    string `json:"traffic"`
	Lesson     string `json:"lesson"`
	Instances  int    `json:"instances"`
	Attempts   int    `json:"attempts"`
	Limit      int64  `json:"limit"`
	Apart      int    `json:"admitted_apart"`
	Together   int    `json:"admitted_together"`
	Counter    string `json:"shared_counter"` // where: memory, redis
}

// Fleet describes the instances of an experiment. Its zero value is the lesson's: 3 instances, 15 attempts, 5 allowed.
type Fleet struct {
	Instances int
	Attempts  int
	Limit     int64

	Counter ratelimit.Store // shared by all; a memory store if nil
	Name    string          // of Counter
	Key     ratelimit.Key   // counted in Counter and forgotten afterwards
}

// Share spreads attempts over instances in turn, as a load balancer does.
func Share(ctx context.Context, f Fleet) (Shared, error) {
	f = f.orLesson()
	if f.Instances < 1 || f.Instances > 10_000 || f.Attempts < 1 || f.Attempts > maxRequests {
		return Shared{}, fmt.Errorf("there must be 1 to 10000 instances and 1 to %d attempts", maxRequests)
	}
	policy, err := ratelimit.NewPolicy(ratelimit.Policy{Name: "attempts", OnFailure: ratelimit.FailClosed, Limit: ratelimit.Limit{
		Algorithm: ratelimit.SlidingLog, Quota: f.Limit, Period: 15 * time.Minute,
	}})
	if err != nil {
		return Shared{}, err
	}
	claims := []ratelimit.Claim{{Policy: policy, Key: f.Key, Cost: 1}}
	apart := make([]ratelimit.Store, f.Instances)
	together := make([]ratelimit.Store, f.Instances)
	for i := range apart {
		apart[i], together[i] = newDesk().store, f.Counter
	}
	s := Shared{
		Experiment: "shared",
		Title:      "One counter, or one for each instance",
		Traffic: fmt.Sprintf("%d attempts spread over %d instances in turn, limit %d; the shared counter is in %s",
			f.Attempts, f.Instances, f.Limit, f.Name),
		Lesson: "Counters in each instance's memory multiply the limit by the number of instances, and change it whenever one is " +
			"added. A limit that guards something, such as log-in, is counted in one place.",
		Instances: f.Instances, Attempts: f.Attempts, Limit: f.Limit, Counter: f.Name,
	}
	if s.Apart, err = inTurn(ctx, apart, claims, f.Attempts); err != nil {
		return s, err
	}
	if s.Together, err = inTurn(ctx, together, claims, f.Attempts); err != nil {
		return s, fmt.Errorf("the counter in %s: %w", f.Name, err)
	}
	return s, f.Counter.Reset(ctx, claims)
}

func (f Fleet) orLesson() Fleet {
	if f.Instances == 0 {
		f.Instances = 3
	}
	if f.Attempts == 0 {
		f.Attempts = 15
	}
	if f.Limit == 0 {
		f.Limit = 5
	}
	if f.Counter == nil {
		f.Counter, f.Name = newDesk().store, "memory"
	}
	if f.Key == (ratelimit.Key{}) {
		f.Key = caller
	}
	return f
}

func inTurn(ctx context.Context, instances []ratelimit.Store, claims []ratelimit.Claim, attempts int) (admitted int, err error) {
	var out [1]ratelimit.Status
	for i := range attempts {
		if err := instances[i%len(instances)].Take(ctx, claims, out[:]); err != nil {
			return admitted, fmt.Errorf("attempt %d: %w", i+1, err)
		}
		if out[0].Allowed {
			admitted++
		}
	}
	return admitted, nil
}

// Report is a line for each way to count.
func (s Shared) Report() Report {
	return Report{
		Title: s.Traffic, Columns: []string{"counter", "admitted", "refused"}, Lesson: s.Lesson,
		Rows: [][]string{
			{"memory of each instance", fmt.Sprint(s.Apart), fmt.Sprint(s.Attempts - s.Apart)},
			{"shared, in " + s.Counter, fmt.Sprint(s.Together), fmt.Sprint(s.Attempts - s.Together)},
		},
	}
}

// Picture has a bar for each way to count.
func (s Shared) Picture() Picture {
	return Picture{Title: s.Title, Subtitle: s.Traffic, Panels: []Panel{BarPanel{Unit: "attempts", Limit: int(s.Limit), Bars: []Bar{
		{Label: "memory of each instance", Admitted: s.Apart, Refused: s.Attempts - s.Apart},
		{Label: "one shared counter", Admitted: s.Together, Refused: s.Attempts - s.Together},
	}}}}
}
