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
}

// Status is one policy's answer to one claim, on the store's clock.
type Status struct {
	Allowed   bool          // this policy would admit the claim; the request passes only if all of them do
	Never     bool          // Cost is above capacity: no waiting helps
	Remaining int64         // whole units left after the decision
	Wait      time.Duration // refused: the exact time until the same claim is admitted if nobody else takes; else 0
	Reset     time.Duration // time until the policy is untouched again: bucket full, window over, oldest unit gone
}

// Store keeps the counts. Implementations are safe for concurrent use.
//
// Take decides every claim in ONE atomic step on the store's own clock: all are charged or none is. It writes one
// Status per claim to out (len(out) == len(claims)). The same policy and key twice in one call are charged as a sum.
// Cost 0 writes nothing. A refused claim writes nothing, so a refusal never prolongs a wait.
// An error means nothing is known; the policy's FailMode decides then, and the caller does not retry.
type Store interface {
	Take(ctx context.Context, claims []Claim, out []Status) error
	// Peek answers as Take would and charges nothing.
	Peek(ctx context.Context, claims []Claim, out []Status) error
	// Give returns claims taken before, at most once per Claim.ID, clamped to capacity. Giving what is unknown
	// or long expired is no error and creates no key.
	Give(ctx context.Context, claims []Claim) error
	// Reset forgets what the claims' keys have used.
	Reset(ctx context.Context, claims []Claim) error
}
