package ratelimit

import (
	"hash/maphash"
	"math"
	"sync"
	"time"
)

// Denials remembers what stores refused, so that a caller who does not wait is refused here, without asking again.
//
//	level 2 of 10 at 2/s: cost 5 is refused, come back in 1.5 s
//	    cost 5, 0.5 s later: refused here, 1 s to wait
//	    cost 6, 0.5 s later: refused here, 1.5 s, in which one more unit flows in
//	    cost 1:              asked, because it may pass
//
// A refusal is forgotten at the time told, when units of its key are given back or reset through this Limiter, and when
// the limit is another one. What other processes give back or reset is not seen here; so a refusal is believed no longer
// than Trust, and that of a reservation, whose like may be given back anywhere, no longer than a second.
//
// It is bounded: what there is no room for is not remembered, and the store is asked. It is safe for concurrent use.
type Denials struct {
	seed   maphash.Seed
	trust  time.Duration
	most   int // a shard
	shards [denialShards]denialShard
}

// DenialsOptions are all optional.
type DenialsOptions struct {
	MaxKeys int           // 100,000: some 15 MB, used only when so many are refused
	Trust   time.Duration // a minute
}

const (
	denialShards  = 16
	trustReserved = time.Second
)

type denialShard struct {
	mu      sync.Mutex
	dropped uint64 // how often something was given back or reset
	refused map[uint64]denial
}

// denial is one refusal.
type denial struct {
	policy *Policy
	cost   int64
	at     time.Time // when it was asked for
	trust  time.Duration
	status Status
}

// NewDenials returns an empty memory of refusals.
func NewDenials(o DenialsOptions) *Denials {
	n := &Denials{seed: maphash.MakeSeed(), trust: o.Trust, most: max(1, o.MaxKeys/denialShards)}
	if o.MaxKeys == 0 {
		n.most = 100_000 / denialShards
	}
	if o.Trust == 0 {
		n.trust = time.Minute
	}
	return n
}

// inquiry is a claim that a store may be asked for.
type inquiry struct {
	hash    uint64 // of policy and key; 0: refusals of it are not remembered
	cost    int64  // the sum over the claims of this policy and key
	dropped uint64 // of its shard, before the store was asked
}

// recall answers a request that is known to be refused, and reports whether it did. What it returns is for learn.
func (l *Limiter) recall(d *Decision, asked []inquiry) (_ []inquiry, known bool) {
	for i := range d.Claims {
		asked = append(asked, l.inquiry(d, i))
		if q := &asked[i]; q.hash != 0 && l.Denials.recall(d, i, q) {
			known = true
		}
	}
	if !known {
		return asked, false
	}
	for i := range d.Statuses {
		if st := &d.Statuses[i]; st.Wait == 0 && !st.Exempt && !st.Shadow {
			*st = Status{Unknown: true, Allowed: true}
		}
	}
	return asked, true
}

// inquiry is claim i as far as Denials are concerned.
func (l *Limiter) inquiry(d *Decision, i int) (q inquiry) {
	c := &d.Claims[i]
	if st := &d.Statuses[i]; c.Policy == nil || c.Cost <= 0 || st.Exempt || st.Shadow {
		return q
	}
	if _, local := l.backend(c).Store.(*Memory); local {
		return q // asking it is as quick
	}
	for j := range d.Claims {
		if o := &d.Claims[j]; o.Policy != nil && o.Policy.Name == c.Policy.Name && o.Key == c.Key && o.Cost > 0 {
			q.cost += min(o.Cost, math.MaxInt64-q.cost)
		}
	}
	if q.cost <= c.Policy.Limit.Capacity() { // else never, which the store says
		q.hash = hashKey(l.Denials.seed, c)
	}
	return q
}

// learn remembers what stores refused.
func (l *Limiter) learn(d *Decision, asked []inquiry) {
	for i := range asked {
		st := &d.Statuses[i]
		if asked[i].hash != 0 && !st.Allowed && !st.Unknown && !st.Local && st.Wait > 0 {
			l.Denials.learn(d, i, &asked[i])
		}
	}
}

func (n *Denials) shard(hash uint64) *denialShard { return &n.shards[hash>>60] }

func (n *Denials) recall(d *Decision, i int, q *inquiry) bool {
	s := n.shard(q.hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	q.dropped = s.dropped
	known, there := s.refused[q.hash]
	if !there {
		return false
	}
	st, holds := known.still(d.Claims[i].Policy, q.cost, d.At)
	if holds {
		d.Statuses[i] = st
	}
	return holds
}

// still is the answer to a claim as long after the refusal, and whether that is certain.
func (n *denial) still(p *Policy, cost int64, now time.Time) (Status, bool) {
	passed := now.Sub(n.at)
	if passed < 0 || passed >= n.trust || cost < n.cost || n.policy != p && n.policy.Limit != p.Limit {
		return Status{}, false
	}
	st := n.status
	if more := cost - n.cost; more > 0 {
		switch {
		case p.Limit.bucket():
			b := &p.ready().bucket
			st.Wait += time.Duration(ceilDiv(more*b.Unit, b.Micro)) * time.Microsecond
		case p.Limit.Algorithm != FixedWindow:
			return Status{}, false // only the store knows what leaves when
		}
	}
	st.Wait -= passed
	st.Reset = max(st.Reset-passed, 0)
	st.Oldest = max(st.Oldest-passed, 0)
	return st, st.Wait > 0
}

// learn remembers a refusal, unless it may have been overtaken by what was given back meanwhile. The cheapest refusal
// of a key says most.
func (n *Denials) learn(d *Decision, i int, q *inquiry) {
	c := &d.Claims[i]
	fresh := denial{policy: c.Policy, cost: q.cost, at: d.At, trust: n.trust, status: d.Statuses[i]}
	if c.ID != "" {
		fresh.trust = min(n.trust, trustReserved)
	}
	s := n.shard(q.hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped != q.dropped {
		return
	}
	old, there := s.refused[q.hash]
	if there && old.cost < fresh.cost {
		if _, holds := old.still(c.Policy, old.cost, d.At); holds {
			return
		}
	}
	if !there && len(s.refused) >= n.most && !s.evict(d.At) {
		return
	}
	if s.refused == nil {
		s.refused = map[uint64]denial{}
	}
	s.refused[q.hash] = fresh
}

// evict drops a refusal that holds no longer if it meets one within a few steps; a map's walk begins anywhere.
func (s *denialShard) evict(now time.Time) bool {
	steps := 0
	for hash, old := range s.refused {
		if _, holds := old.still(old.policy, old.cost, now); !holds {
			delete(s.refused, hash)
			return true
		}
		if steps++; steps == 8 {
			break
		}
	}
	return false
}

// forget drops what is remembered of the claims' keys, after their units were given back.
func (n *Denials) forget(claims []Claim) {
	if n == nil {
		return
	}
	for i := range claims {
		c := &claims[i]
		if c.Policy == nil {
			continue
		}
		hash := hashKey(n.seed, c)
		s := n.shard(hash)
		s.mu.Lock()
		s.dropped++
		delete(s.refused, hash)
		s.mu.Unlock()
	}
}
