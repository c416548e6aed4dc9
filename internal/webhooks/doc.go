// Package webhooks tells customers by HTTP that a transfer of theirs has completed.
//
//	transfers, in the order of     fanOut: one statement           a goroutine per delivery
//	(xid, id), below the horizon --> deliveries, cursor moves on --> Shaper of the partner --> POST, signed
//	                                     ^                                                      |
//	                                     +---- later, with backoff or after Retry-After --------+-- 2xx: row deleted
//
// The table of transfers is the outbox, so the way of the money writes nothing for this. It is read in an order in which
// nothing can appear behind the reader: migration 0006 says why. That a transfer was read and what is to be delivered for
// it are written in one statement, and a delivery is deleted only after the partner has taken it. So each event arrives at
// least once, whoever crashes when; the header webhook-id is the same each time, and tells a repetition.
//
// One process at a time sends, the one that holds an advisory lock; when its connection ends another takes over, after an
// interval's rest. So a partner, which is a host and a port however many hooks point to it, is not called faster than its
// rate. Deliveries are not in order: a failed one is sent again later.
//
// Requests are signed as Standard Webhooks says. They go to public addresses only, checked when the connection is made and
// not when the name is looked up, follow no redirect and use no proxy: a hook is no way into the bank's network.
//
// Open service.go first, then sender.go and deliver.go. All SQL is in store.go and store_hooks.go.
package webhooks
