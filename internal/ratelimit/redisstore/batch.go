package redisstore

import (
	"errors"
	"math"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// batch is the claims of one call as the scripts take them: those of one policy and key are one sum.
type batch struct {
	sums []sum
	of   []int // the sum of each claim
}

// sum is what one call asks of one policy and key.
type sum struct {
	key      string
	limit    ratelimit.Limit
	cost     int64
	reserves []reserve
	status   ratelimit.Status // the answer
}

// reserve is units that may be given back under a key of their own.
type reserve struct {
	key   string
	units int64
}

// pack sums up the claims of a take or a peek.
func (s *Store) pack(claims []ratelimit.Claim) *batch {
	b := &batch{sums: make([]sum, 0, len(claims)), of: make([]int, len(claims))}
	for i := range claims {
		c := &claims[i]
		n := b.find(key(s.prefix, c.Policy, c.Key), c.Policy.Limit)
		b.of[i] = n
		to := &b.sums[n]
		to.cost += min(c.Cost, math.MaxInt64-to.cost)
		if c.ID != "" && c.Cost > 0 {
			to.reserve(reservationKey(to.key, c.ID), c.Cost)
		}
	}
	return b
}

// find returns the index of a key's sum, a new one if it has none. A call has few claims: a map would be slower.
func (b *batch) find(key string, limit ratelimit.Limit) int {
	for i := range b.sums {
		if b.sums[i].key == key {
			return i
		}
	}
	b.sums = append(b.sums, sum{key: key, limit: limit})
	return len(b.sums) - 1
}

func (to *sum) reserve(key string, units int64) {
	for i := range to.reserves {
		if r := &to.reserves[i]; r.key == key {
			r.units += min(units, math.MaxInt64-r.units)
			return
		}
	}
	to.reserves = append(to.reserves, reserve{key: key, units: units})
}

// packGives lists the claims that can be given back, each by itself.
func (s *Store) packGives(claims []ratelimit.Claim) *batch {
	b := &batch{}
	for i := range claims {
		c := &claims[i]
		if c.ID == "" {
			continue
		}
		to := sum{key: key(s.prefix, c.Policy, c.Key), limit: c.Policy.Limit}
		to.reserve(reservationKey(to.key, c.ID), c.Cost)
		b.sums = append(b.sums, to)
	}
	return b
}

// arguments are KEYS and ARGV of stage.lua. The time here says which boundaries of a calendar are near.
func (b *batch) arguments(clock any, here ratelimit.Instant, command string) (keys []string, args []any) {
	keys = make([]string, 0, 2*len(b.sums))
	args = make([]any, 0, 3+7*len(b.sums))
	args = append(args, clock, command, len(b.sums))
	for i := range b.sums {
		to := &b.sums[i]
		a := algorithms[to.limit.Algorithm]
		capacity, unit, micro := a.numbers(to.limit, here)
		keys = append(keys, to.key)
		args = append(args, a.name, min(to.cost, capacity+1), capacity, unit, micro, len(to.reserves))
	}
	for i := range b.sums {
		to := &b.sums[i]
		for _, r := range to.reserves {
			keys = append(keys, r.key)
			args = append(args, min(r.units, to.limit.Capacity()))
		}
	}
	return keys, args
}

// statuses reads the answer of stage.lua.
func (b *batch) statuses(answer []int64) error {
	const size = 5
	if len(answer) != size*len(b.sums) {
		return errAnswer
	}
	for i := range b.sums {
		to, own := &b.sums[i], answer[size*i:]
		to.status = ratelimit.Status{
			Allowed:   own[0] == 1,
			Never:     to.cost > to.limit.Capacity(),
			Remaining: own[1],
			Wait:      micros(own[2]),
			Reset:     micros(own[3]),
			Oldest:    micros(own[4]),
		}
	}
	return nil
}

var errAnswer = errors.New("the script answered too few numbers or too many")

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// byOwner groups the indexes of claims by their owners, whose keys live on one node of a Cluster.
func byOwner(claims []ratelimit.Claim) [][]int {
	var groups [][]int
	of := map[string]int{}
	for i := range claims {
		owner := claims[i].Key.Owner
		n, known := of[owner]
		if !known {
			n = len(groups)
			of[owner] = n
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], i)
	}
	return groups
}

func pick(claims []ratelimit.Claim, indexes []int) []ratelimit.Claim {
	picked := make([]ratelimit.Claim, len(indexes))
	for i, n := range indexes {
		picked[i] = claims[n]
	}
	return picked
}
