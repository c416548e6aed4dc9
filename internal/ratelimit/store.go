package ratelimit

import (
	"context"
	"time"
)

// Key names whose units are counted. Owner is the caller (a user id, an address prefix) and becomes the hash tag of a
// clustered store; Part narrows it (an account of that user) and is often empty. Neither may be a secret.
type Key struct {
	Owner string
	Part  string
}

// Claim asks for Cost units of one policy for one key.
type Claim struct {
	Policy *Policy
	Key    Key
	Cost   int64
	ID     string // names the reservation where units may be given back; empty where they never are
	Exempt bool   // for Limiter: the caller is spared, so the claim is not counted and passes, as if its policy were Unlimited
}

// Status is one policy's answer to one claim, on the store's clock.
type Status struct {
	Allowed   bool          // this policy would admit the claim; the request passes only if all of them do
	Never     bool          // Cost is above capacity: no waiting helps
	Remaining int64         // whole units left after the decision
	Wait      time.Duration // refused: the exact time until the same claim is admitted if nobody else takes; else 0
	Reset     time.Duration // time until the policy is untouched again: bucket full, window over, newest unit gone
	Oldest    time.Duration // windows: time until the oldest counted unit leaves, 0 when none is counted; buckets: 0

	// Set by Limiter.
	Unknown bool // not asked, or no answer; Allowed is then the FailMode
	Local   bool // no answer: counted in this process's share of the limit
	Shadow  bool // of a policy that is a Shadow: Allowed in any case; see WouldRefuse
	Exempt  bool // not counted: the policy is Unlimited, or the claim is Exempt
}

// WouldRefuse reports whether a Shadow policy would have refused.
func (st *Status) WouldRefuse() bool { return st.Shadow && (st.Never || st.Wait > 0) }

// Store keeps the counts. Implementations are safe for concurrent use.
//
// Take decides every claim in ONE atomic step on the store's own clock: all are charged or none is. It writes one
// Status per claim to out (len(out) == len(claims)). The same policy and key twice in one call are charged as a sum,
// and each of them is answered with the sum's status. Cost 0 is always allowed and writes nothing. A refused claim
// writes nothing, so a refusal never prolongs a wait; when any claim is refused, the others report Allowed and what
// they have left uncharged. A negative cost, an invalid policy or an algorithm the store does not know is an error.
// An error means nothing is known; the policy's FailMode decides then, and the caller does not retry.
type Store interface {
	Take(ctx context.Context, claims []Claim, out []Status) error
	// Peek decides as Take would and charges nothing: Remaining, Reset and Oldest are as they stand.
	Peek(ctx context.Context, claims []Claim, out []Status) error
	// Give returns Cost units of claims taken before, at most once per policy, key and Claim.ID and never more than
	// was taken. A reservation lives as long as its units count (one refill, one window). Giving what is unknown or
	// expired, or has an empty ID, is no error and changes nothing; no key is ever created, no capacity exceeded.
	Give(ctx context.Context, claims []Claim) error
	// Reset forgets what the claims' keys have used. Whether it also forgets their reservations is not promised.
	Reset(ctx context.Context, claims []Claim) error
}
