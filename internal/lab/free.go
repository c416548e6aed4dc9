package lab

import (
	"fmt"

	"example.com/bankapi/internal/ratelimit"
)

// Free plays traffic of one's own to a limit by several algorithms. Without algorithms it takes the four that Compare
// does. A burst is for buckets; windows beside them do without.
func Free(name string, traffic []Request, limit ratelimit.Limit, algorithms []ratelimit.Algorithm) (Comparison, error) {
	if len(algorithms) == 0 {
		algorithms = compared
	}
	c := Comparison{Experiment: "traffic", Title: "Requests over time", Traffic: fmt.Sprintf("%s, limit %s", name, FormatLimit(limit))}
	buckets := 0
	for _, algorithm := range algorithms {
		if bucket(algorithm) {
			buckets++
		}
	}
	for _, algorithm := range algorithms {
		l := with(limit, algorithm)
		if buckets > 0 && !bucket(algorithm) {
			l.Burst = 0
		}
		run, err := Play(l, traffic)
		if err != nil {
			return c, err
		}
		c.Runs = append(c.Runs, run)
	}
	return c, nil
}

func bucket(a ratelimit.Algorithm) bool {
	return a == ratelimit.TokenBucket || a == ratelimit.LeakyBucket
}
