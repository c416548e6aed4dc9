package pgstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"example.com/bankapi/internal/ratelimit"
)

// ErrAlgorithm is returned for a policy whose algorithm this store does not know.
var ErrAlgorithm = errors.New("postgres limits: no sliding counter here")

// batch is the claims of one call as the functions take them: those of one policy and key are one sum.
type batch struct {
	sums  []sum
	sumOf []int // the index of each claim's sum

	of    []int32  // for each reservation its sum, counted from 1
	ids   [][]byte // of reservations
	units []int64  // of reservations
}

// sum is what one call asks of one policy and key.
type sum struct {
	key       []byte
	policy    string
	algorithm string
	cost      int64
	capacity  int64
	unit      int64 // see type ratelimit_claim; of a calendar window the bounds between which the database decides
	micro     int64
}

// pack sums up the claims of a call.
func (s *Store) pack(claims []ratelimit.Claim, out []ratelimit.Status) (*batch, error) {
	if err := ratelimit.CheckClaims(claims, out); err != nil {
		return nil, err
	}
	now := ratelimit.InstantOf(s.here())
	b := &batch{sumOf: make([]int, len(claims)), of: []int32{}, ids: [][]byte{}, units: []int64{}}
	for i := range claims {
		c := &claims[i]
		one, err := newSum(c, now)
		if err != nil {
			return nil, err
		}
		n := b.add(one)
		b.sumOf[i] = n
		if c.ID != "" && c.Cost > 0 {
			b.reserve(n, c)
		}
	}
	return b, nil
}

// packGives lists the claims that can be given back, each by itself.
func (s *Store) packGives(claims []ratelimit.Claim) (*batch, error) {
	if err := ratelimit.CheckClaims(claims, make([]ratelimit.Status, len(claims))); err != nil {
		return nil, err
	}
	now := ratelimit.InstantOf(s.here())
	b := &batch{}
	for i := range claims {
		if claims[i].ID == "" {
			continue
		}
		one, err := newSum(&claims[i], now)
		if err != nil {
			return nil, err
		}
		b.sums = append(b.sums, one)
		b.ids = append(b.ids, digest(claims[i].ID))
	}
	return b, nil
}

func newSum(c *ratelimit.Claim, now ratelimit.Instant) (sum, error) {
	l := c.Policy.Limit
	one := sum{policy: c.Policy.Name, cost: c.Cost, capacity: l.Capacity(), unit: l.Period.Microseconds()}
	switch l.Algorithm {
	case ratelimit.TokenBucket, ratelimit.LeakyBucket:
		bucket := l.Bucket()
		one.algorithm, one.unit, one.micro = "bucket", bucket.Unit, bucket.Micro
	case ratelimit.FixedWindow:
		one.algorithm = "window"
		if l.Calendar != 0 {
			first, second := l.Bounds(now)
			one.unit, one.micro = int64(first), int64(second)
		}
	case ratelimit.SlidingLog:
		one.algorithm = "log"
	default:
		return sum{}, fmt.Errorf("%w: policy %s", ErrAlgorithm, c.Policy.Name)
	}
	one.key = digest(l.Algorithm.String(), c.Policy.Name, c.Key.Owner, c.Key.Part)
	return one, nil
}

// add adds to the sum of the same key. A call has few claims: a map would be slower.
func (b *batch) add(one sum) int {
	for i := range b.sums {
		if to := &b.sums[i]; bytes.Equal(to.key, one.key) {
			to.cost += min(one.cost, math.MaxInt64-to.cost)
			return i
		}
	}
	b.sums = append(b.sums, one)
	return len(b.sums) - 1
}

// reserve notes units of a sum that may be given back.
func (b *batch) reserve(n int, c *ratelimit.Claim) {
	id := digest(c.ID)
	for i := range b.ids {
		if int(b.of[i]) == n+1 && bytes.Equal(b.ids[i], id) {
			b.units[i] += min(c.Cost, math.MaxInt64-b.units[i])
			return
		}
	}
	b.of = append(b.of, int32(n)+1)
	b.ids = append(b.ids, id)
	b.units = append(b.units, c.Cost)
}

// packedClaims makes of arguments $1 to $7 the claims that the functions take.
const packedClaims = `ARRAY(
	SELECT ROW (c.key, c.policy, c.algorithm, c.cost, c.capacity, c.unit, c.micro)::ratelimit_claim
	FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
		WITH ORDINALITY AS c (key, policy, algorithm, cost, capacity, unit, micro, n)
	ORDER BY c.n)`

// arguments are $1 to $7.
func (b *batch) arguments() []any {
	n := len(b.sums)
	policies, algorithms := make([]string, n), make([]string, n)
	costs, capacities, units, micros := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for i := range b.sums {
		to := &b.sums[i]
		policies[i], algorithms[i] = to.policy, to.algorithm
		costs[i], capacities[i], units[i], micros[i] = min(to.cost, to.capacity+1), to.capacity, to.unit, to.micro
	}
	return []any{b.keys(), policies, algorithms, costs, capacities, units, micros}
}

func (b *batch) keys() [][]byte {
	keys := make([][]byte, len(b.sums))
	for i := range b.sums {
		keys[i] = b.sums[i].key
	}
	return keys
}

// digest is the SHA-256 of strings, each after its length.
func digest(parts ...string) []byte {
	hash := sha256.New()
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write([]byte(part))
	}
	return hash.Sum(nil)
}
