// Package client calls bankapi, and keeps its side of the contract: it waits as long as it is told, comes back spread
// out, and never moves money twice.
//
//	bank := client.New("http://127.0.0.1:8080", token)   // retrying and paced
//	intent := client.NewIntent(client.Order{...})        // the key is made here, once, before any try
//	transfer, err := bank.Settle(ctx, intent)            // sent until decided; the money moves once
//	if errors.Is(err, client.ErrInsufficientFunds) { ... }
//
// # The contract
//
// A refused request (429) has done nothing and cost nothing. Retry-After says after how many seconds the same request
// will be let in; who comes back earlier is refused again, and a thousand clients that come back at exactly that second
// are a flood. So the wait is never shorter than told and random above it. RateLimit says before a refusal how much is
// left, so that a client need not be refused at all.
//
// A lost answer says nothing about the money. So a transfer carries a key that names the intent of a person, not a
// request: made once, sent with each try, and a second try gets the first answer. Without a key no POST is sent twice.
//
// # The parts
//
// Each works alone, around any other [http.RoundTripper]:
//
//	http.Client -> Retrier -> Pacer -> http.DefaultTransport
//	               |          waits before sending, by RateLimit: meets no 429
//	               waits after a failure, by Retry-After: meets no second 429
//
// [Retrier] is in retry.go: which request, which failure, how long, how often. [Pacer] is in pacer.go, what it knows of
// one policy in allowance.go. The calls are in one file for each part of the API, beginning with client.go; refusals are
// a *[Problem], and an answer that never came is a *[LostError].
package client
