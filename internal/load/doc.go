// Package load sends transfers to a bank over HTTP and measures how many it answers, and how fast. It is for measuring:
// `bankapi capacity --measure` and bench/cmd/ledger use it, and a bank that serves has no use for it.
//
//	crowd.go     who pays: users with API keys and accounts, made through the bank's own services
//	payments.go  what they send: the bytes of one transfer after another
//	run.go       how: closed (each connection asks again when it has its answer) or paced (by the clock)
//	wire.go      a connection that reads no more of an answer than it must
//	result.go    what came of it
//
// The two ways answer two questions. Closed finds the most a bank can do. Its latencies are service times under that
// load: a client that waits for its answer asks less often when answers are slow, so it cannot say what callers would
// have felt who come when they please. Paced can: each request is due at a moment, and its latency counts from that
// moment, sent or not.
package load
