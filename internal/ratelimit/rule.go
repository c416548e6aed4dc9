package ratelimit

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// NewPolicy checks p and prepares its arithmetic.
func NewPolicy(p Policy) (*Policy, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	p.rule = newRule(&p)
	return &p, nil
}

// rule is a policy made ready: the arithmetic of its algorithm, and what its headers always say.
type rule struct {
	limit     Limit
	algorithm Algorithm
	bucket    Bucket // and the leaky one
	window    Window
	log       Log
	counter   Counter

	in atomic.Pointer[ruleIn] // in the Memory that asked last

	advert string // its member of RateLimit-Policy: "user";q=10;w=5
}

func newRule(p *Policy) *rule {
	r := &rule{limit: p.Limit, algorithm: p.Limit.Algorithm, advert: advert(p)}
	switch p.Limit.Algorithm {
	case TokenBucket, LeakyBucket:
		r.bucket = p.Limit.Bucket()
	case FixedWindow:
		r.window = p.Limit.Window()
	case SlidingLog:
		r.log = p.Limit.Log()
	case SlidingCounter:
		r.counter = p.Limit.Counter()
	case Unlimited: // nothing is counted
	}
	return r
}

// ready is the prepared rule, made here for a literal that has none.
func (p *Policy) ready() *rule {
	if p.rule == nil {
		return newRule(p)
	}
	return p.rule
}

var (
	errCost      = errors.New("ratelimit: a cost below 0")
	errUnlimited = errors.New("ratelimit: a store is asked for what is unlimited")
	errPolicy    = errors.New("ratelimit: a claim without a policy")
	errOut       = errors.New("ratelimit: as many statuses as claims are needed")
)

// CheckClaims refuses what no store can answer: a claim without a policy, with an invalid one or with a cost below 0,
// and an out of another length. Stores call it first; it costs nothing for policies made by NewPolicy.
func CheckClaims(claims []Claim, out []Status) error {
	if len(claims) != len(out) {
		return errOut
	}
	for i := range claims {
		switch c := &claims[i]; {
		case c.Policy == nil:
			return errPolicy
		case c.Policy.Limit.Algorithm == Unlimited:
			return fmt.Errorf("%w: policy %s", errUnlimited, c.Policy.Name)
		case c.Cost < 0:
			return fmt.Errorf("%w: policy %s", errCost, c.Policy.Name)
		case c.Policy.rule == nil:
			if err := c.Policy.Validate(); err != nil {
				return fmt.Errorf("ratelimit: %w", err)
			}
		}
	}
	return nil
}
