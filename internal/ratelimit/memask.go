package ratelimit

import (
	"hash/maphash"
	"math"
	"math/bits"
)

// ask is a claim made ready: its place and its arithmetic.
type ask struct {
	policy *Policy
	rule   *rule
	limit  uint64 // its number in this Memory
	hash   uint64 // of policy and key
	home   uint64 // under which it is counted: hash, or the overflow's
	cost   int64  // the sum over the claims of this policy and key
	first  int    // index of the first claim of this policy and key
}

// ready fills in k for a claim.
func (m *Memory) ready(k *ask, c *Claim) {
	k.policy, k.cost, k.first = c.Policy, c.Cost, 0
	k.rule = k.policy.ready()
	in := m.in(k.policy, k.rule)
	k.limit, k.hash = in.limit, hashNamed(m.seed, in.name, &c.Key)
}

// asks makes claims ready, sums those of one policy and key, and names the shards concerned.
func (m *Memory) asks(asks []ask, claims []Claim) (_ []ask, shards uint64) {
	for i := range claims {
		var k ask
		m.ready(&k, &claims[i])
		for k.first < i && asks[k.first].hash != k.hash {
			k.first++
		}
		if k.first < i {
			sum := &asks[k.first].cost
			*sum += min(k.cost, math.MaxInt64-*sum)
		}
		asks = append(asks, k)
		shards |= 1 << (k.hash >> 58)
	}
	return asks, shards
}

// lock locks the shards of a set, in ascending order: two calls never wait for each other.
func (m *Memory) lock(shards uint64) {
	for ; shards != 0; shards &= shards - 1 {
		m.shards[bits.TrailingZeros64(shards)].mu.Lock()
	}
}

func (m *Memory) unlock(shards uint64) {
	for ; shards != 0; shards &= shards - 1 {
		m.shards[bits.TrailingZeros64(shards)].mu.Unlock()
	}
}

func (m *Memory) shard(hash uint64) *shard { return &m.shards[hash>>58] }

// hashKey hashes the policy's name and both parts of the key, each by itself, so that ("ab", "c") and ("a", "bc")
// differ.
func hashKey(seed maphash.Seed, c *Claim) uint64 {
	return hashNamed(seed, maphash.String(seed, c.Policy.Name), &c.Key)
}

// hashNamed is hashKey where the name has been hashed.
func hashNamed(seed maphash.Seed, name uint64, k *Key) uint64 {
	h := mix(name, maphash.String(seed, k.Owner))
	if k.Part != "" {
		h = mix(h, maphash.String(seed, k.Part))
	}
	return max(h, 1) // 0 marks a free cell
}

// overflow is the place shared by the keys of a policy for which there is no room.
func (m *Memory) overflow(p *Policy) uint64 {
	return max(mix(maphash.String(m.seed, p.Name), 0), 1)
}

// reservation names the record of a claim that may be given back; 0 is none.
func (m *Memory) reservation(k *ask, id string) uint64 {
	if id == "" {
		return 0
	}
	return max(mix(k.hash, maphash.String(m.seed, id)), 1)
}

// mix combines two hashes; the order matters. Both halves of the product depend on all bits of both.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd1b54a32d192ed03)
	return hi ^ lo
}
