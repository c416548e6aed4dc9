// Package pgstore keeps the counts of package ratelimit in PostgreSQL: for limits that must survive a restart and are
// shared by all processes, at a rate a database is happy with, like log-ins. Open first: migrations/0003_ratelimit.up.sql,
// which holds the layout and the arithmetic; this Go code packs its arguments and reads its answers.
//
//	Take(claims) -> one SELECT ratelimit_take(...) -> lock the keys in ascending order -> clock_timestamp()
//	             -> decide all -> if all are allowed, write all -> COMMIT
//
// It knows token bucket, leaky bucket, fixed window and sliding log. A day or a month ends by the database's clock too:
// it is told two successive boundaries (ratelimit.Limit.Bounds) and chooses. A clock here that is more than half a
// window off is an error.
//
// # Why a function
//
// The decision must see what others committed while it waited for its keys. A single SQL statement, however many CTEs
// it has, sees the database as of its start; each statement inside a function at READ COMMITTED sees it as of its own.
// One call is still one round trip and one transaction.
//
// # Keys
//
// A key is the SHA-256 of algorithm, policy, owner and part, each with its length before it, so that no two keys can
// be made to meet, and no e-mail address stands in these tables. The policy's name stands beside it for people. Locks
// are transaction-level advisory locks named by the first 64 bits of the key: two keys that share them wait for each
// other, no more. Because a lock needs no row, a refusal writes nothing at all.
//
// # Durability
//
// The tables are logged, so counts survive a crash and reach a standby, but COMMIT does not wait for the disk
// (synchronous_commit is off for these transactions alone): a crash of the server may forget the last fraction of a
// second of counts. For UNLOGGED tables it would forget all of them, and a password guesser could start again.
//
// # What grows
//
// Rows that no longer count stay until Purge deletes them, in batches, without waiting for anybody. Run it every minute
// or so; nothing depends on it but disk space.
package pgstore
