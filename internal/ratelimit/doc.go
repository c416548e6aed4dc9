// Package ratelimit decides who gets the capacity there is. It imports only the standard library.
//
//	 request                    Claim: cost 5 of policy "user" for key usr_...
//	    |
//	Middleware -> Limiter ----> Backend: budget 50 ms ----> Store: all claims in one atomic step
//	    |            |              silence: FailMode          Memory, redisstore, pgstore
//	    |            |                                            |
//	    |         Decision <---- Status per claim <---------- algorithm: (state, now, cost) -> (state, Status)
//	    |            |
//	 next, or     WriteHeaders: RateLimit, Retry-After
//	 refuse 429
//
// A Policy is a named Limit and what to answer when its store cannot. A Claim asks for units of it on behalf of a
// Key. The claims of one request pass or fail together, so a refusal by one policy costs nothing in the others.
//
// Around the store the Limiter has, each in its file and each left out if its field is nil: denials.go, a refusal said
// again without asking; share.go, this process's share of a limit while the store is away; shadow.go, policies on trial;
// refusals.go, who is refused most; inspect.go, a look for operators. Package breaker leaves a silent store alone.
//
// Open first: tokenbucket.go, the arithmetic that most limits use. The algorithms (tokenbucket.go, fixedwindow.go with
// calendar.go, slidinglog.go, slidingcounter.go, leakybucket.go) are pure functions on integers and the specification of
// every store; storetest holds the stores to it. Then store.go for the promise, limiter.go for what surrounds it, and
// defaults.go for the limits of this bank. shaper.go is the one that delays instead of refusing, for calls to others.
//
// Time is counted in whole microseconds everywhere and nothing is rounded in a caller's favour: whoever waits exactly
// as long as told is admitted, and a microsecond earlier is refused.
package ratelimit
