package ratelimit

import (
	"fmt"
	"time"
)

// Policies are the limits the API needs, each under the name by which its stages know it.
type Policies struct {
	IP                 *Policy
	Anonymous          *Policy
	User               *Policy
	Daily              *Policy
	TransfersAccount   *Policy
	GlobalTransfers    *Policy
	LoginAccount       *Policy
	LoginIP            *Policy
	SignUpIP           *Policy
	PasswordResetEmail *Policy
}

// What a request costs under Policies.User.
const (
	CostRead     = 1
	CostTransfer = 5 // a transaction with two locked accounts, not a look-up
)

// DefaultPolicies returns the limits that hold where nobody set others.
//
// API limits fail open, each process counting its share: without them the bank is slower under a flood, with them shut it
// would be down. Those that
// guard passwords and sign-up fail closed: an outage of the limiter must not be the moment to guess.
func DefaultPolicies() Policies {
	return Policies{
		// Coarse and generous: a whole office may sit behind one address. It bounds what one address can cost
		// before anything about a request is known.
		IP: fixed(Policy{
			Name: "ip", OnFailure: FailOpen, Share: true,
			Limit: Limit{Algorithm: TokenBucket, Quota: 100, Period: time.Second, Burst: 300},
		}),
		// Callers without a verified identity, per address: made-up tokens cost their sender, never a customer.
		Anonymous: fixed(Policy{
			Name: "anonymous", OnFailure: FailOpen, Share: true,
			Limit: Limit{Algorithm: TokenBucket, Quota: 5, Period: time.Second, Burst: 20},
		}),
		// Two transfers at once, then one each 2.5 s; ten reads at once, then two a second.
		User: fixed(Policy{
			Name: "user", OnFailure: FailOpen, Share: true,
			Limit: Limit{Algorithm: TokenBucket, Quota: 2, Period: time.Second, Burst: 10},
		}),
		// A day of UTC. A window, because that is what people mean by a day's quota: it begins again at midnight.
		Daily: fixed(Policy{
			Name: "daily", OnFailure: FailOpen, Share: true,
			Limit: Limit{Algorithm: FixedWindow, Quota: 10_000, Period: 24 * time.Hour},
		}),
		// Transfers out of one account in any minute: a stolen token does not empty it in many small steps.
		TransfersAccount: fixed(Policy{
			Name: "transfers-account", OnFailure: FailOpen, Share: true,
			Limit: Limit{Algorithm: SlidingLog, Quota: 30, Period: time.Minute},
		}),
		// Transfers of everybody: 80 % of what a small machine's database settles. Private, because what others have
		// left of it is nobody's business.
		GlobalTransfers: fixed(Policy{
			Name: "global-transfers", OnFailure: FailOpen, Share: true, Private: true,
			Limit: Limit{Algorithm: TokenBucket, Quota: 12_000, Period: time.Second, Burst: 12_000},
		}),
		// Failed guesses at one account, wherever they come from. A log, because a window would admit twice as many
		// at its boundary. Private, because the caller has not proved to be the owner.
		LoginAccount: fixed(Policy{
			Name: "login-account", OnFailure: FailClosed, Private: true,
			Limit: Limit{Algorithm: SlidingLog, Quota: 5, Period: 15 * time.Minute},
		}),
		// Failed guesses from one address, whatever the accounts.
		LoginIP: fixed(Policy{
			Name: "login-ip", OnFailure: FailClosed,
			Limit: Limit{Algorithm: SlidingLog, Quota: 20, Period: 15 * time.Minute},
		}),
		// New accounts from one address: each gets an opening credit and costs a password hash.
		SignUpIP: fixed(Policy{
			Name: "signup-ip", OnFailure: FailClosed,
			Limit: Limit{Algorithm: SlidingLog, Quota: 20, Period: time.Hour},
		}),
		// Mails that set a password, to one address, known or not: nobody's inbox is flooded in the bank's name. Private,
		// because the caller has not proved to be the owner.
		PasswordResetEmail: fixed(Policy{
			Name: "password-reset-email", OnFailure: FailClosed, Private: true,
			Limit: Limit{Algorithm: SlidingLog, Quota: 3, Period: time.Hour},
		}),
	}
}

// fixed is NewPolicy for a policy written in this file.
func fixed(p Policy) *Policy {
	made, err := NewPolicy(p)
	if err != nil {
		panic(fmt.Sprintf("ratelimit: default: %v", err))
	}
	return made
}
