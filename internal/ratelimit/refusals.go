package ratelimit

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"
)

// Refusals knows who is refused most, in bounded memory: for operators, in place of keys as labels of a metric, which
// would be without bound and would show them to all who read metrics.
//
//	key       refused  at most too many     "space saving" (Metwally, Agrawal, El Abbadi 2005): a newcomer
//	9f0c...       812                 0     takes the place of the key refused least and begins with its
//	41aa...        97                 3     count, so that no count is too low and each says by how much
//	                                        it may be too high; whoever has more than 1/Keys of all
//	                                        refusals is in it
//
// Keys are kept as hashes with this process's secret seed: Name says which one a known key has. Counts halve every ten
// minutes, so they are those of late. It is safe for concurrent use.
type Refusals struct {
	seed maphash.Seed
	most int

	mu     sync.Mutex
	heap   []refusalCount // the least first: children of i are 2i+1 and 2i+2
	place  map[uint64]int // in heap
	halved time.Time
}

// refusalsHalve is how often counts do.
const refusalsHalve = 10 * time.Minute

type refusalCount struct {
	hash   uint64
	policy string
	count  uint64
	over   uint64
}

// RefusedKey is one entry of Refusals.
type RefusedKey struct {
	Policy string `json:"policy"`
	Key    string `json:"key"`              // its Name
	Count  uint64 `json:"count"`            // refusals of late
	Over   uint64 `json:"at_most_too_many"` // Count is right, or too high by no more than this
}

// NewRefusals returns an empty one with room for so many keys; 0 is 1,000, some 100 KB.
func NewRefusals(keys int) *Refusals {
	if keys == 0 {
		keys = 1000
	}
	return &Refusals{seed: maphash.MakeSeed(), most: max(1, keys), place: map[uint64]int{}}
}

// Name is under what a policy's key stands in Top. It is another one in each process.
func (r *Refusals) Name(policy string, k Key) string {
	return nameRefused(hashKey(r.seed, &Claim{Policy: &Policy{Name: policy}, Key: k}))
}

func nameRefused(hash uint64) string { return fmt.Sprintf("%016x", hash) }

// Top returns the n keys refused most, the first one most of all.
func (r *Refusals) Top(now time.Time, n int) []RefusedKey {
	r.mu.Lock()
	r.halve(now)
	counts := slices.Clone(r.heap)
	r.mu.Unlock()
	slices.SortFunc(counts, func(a, b refusalCount) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.over, b.over), cmp.Compare(a.hash, b.hash))
	})
	top := make([]RefusedKey, 0, min(max(n, 0), len(counts)))
	for _, c := range counts[:cap(top)] {
		if c.count > 0 {
			top = append(top, RefusedKey{Policy: c.policy, Key: nameRefused(c.hash), Count: c.count, Over: c.over})
		}
	}
	return top
}

// add counts a refusal.
func (r *Refusals) add(c *Claim, now time.Time) {
	hash := hashKey(r.seed, c)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.halve(now)
	i, known := r.place[hash]
	switch {
	case known:
	case len(r.heap) < r.most:
		i = len(r.heap)
		r.heap = append(r.heap, refusalCount{hash: hash, policy: c.Policy.Name})
		r.place[hash] = i
		i = r.up(i)
	default:
		least := &r.heap[0]
		delete(r.place, least.hash)
		*least = refusalCount{hash: hash, policy: c.Policy.Name, count: least.count, over: least.count}
		r.place[hash] = 0
		i = 0
	}
	r.heap[i].count++
	r.down(i)
}

// halve halves all counts as often as is due. Their order stays.
func (r *Refusals) halve(now time.Time) {
	passed := now.Sub(r.halved)
	if passed < refusalsHalve {
		return
	}
	if r.halved.IsZero() {
		r.halved = now
		return
	}
	r.halved = now.Add(-passed % refusalsHalve)
	times := min(passed/refusalsHalve, 63)
	for i := range r.heap {
		r.heap[i].count >>= times
		r.heap[i].over >>= times
	}
}

// up moves entry i towards the least until its parent is no greater, and returns where it is.
func (r *Refusals) up(i int) int {
	for i > 0 && r.heap[(i-1)/2].count > r.heap[i].count {
		r.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

// down moves entry i away from the least until its children are no less.
func (r *Refusals) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(r.heap); child++ {
			if r.heap[child].count < r.heap[least].count {
				least = child
			}
		}
		if least == i {
			return
		}
		r.swap(i, least)
		i = least
	}
}

func (r *Refusals) swap(i, j int) {
	r.heap[i], r.heap[j] = r.heap[j], r.heap[i]
	r.place[r.heap[i].hash], r.place[r.heap[j].hash] = i, j
}
