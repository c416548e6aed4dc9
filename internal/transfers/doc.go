// Package transfers moves money between accounts, so that none is lost and none moves twice.
//
// # The model
//
// An account has one currency, a balance in minor units, a floor under which the balance may not fall, and a sequence
// number that counts its entries. A transfer is one row that holds both of its sides: amount, and for either account the
// sequence number and the balance after it. A one-sided entry therefore cannot be written; the view entries shows the two.
//
//	accounts                      transfers                                       accounts
//	+-----------------+           +------------------------------------+         +-----------------+
//	| A   balance  70 |<----------| from A  #4 -> 70    to B  #9 -> 130 |-------->| B   balance 130 |
//	|     sequence  4 |           | amount 30, currency, memo           |         |     sequence  9 |
//	+-----------------+           +------------------------------------+         +-----------------+
//
// A customer's floor is 0. Money comes from the system account of its currency, the one account that may go below zero,
// so the balances of a currency always sum to 0. Customers cannot name system accounts: to them these do not exist.
//
// The database does the posting itself: inserting transfers moves the balances and refuses rows that do not continue
// their accounts' histories (migrations/0009_frozen_accounts_rest.up.sql). Nothing else, not even an UPDATE by hand, can
// move a balance.
//
// # Natural batching
//
// One goroutine ([Service.Run]) writes, on one connection of its own. While it commits a batch, requests queue; the next
// batch takes them all. There is no timer: an idle bank runs batches of one, and a busy one pays one COMMIT for many.
//
//	Transfer ---> queue (bounded) ---> take all ---> judge: pure Go, in order of arrival
//	                   ^                                |
//	Transfer ----------+                             INSERT transfers (posts), INSERT keys: one flush, one transaction
//	                                                    |
//	    answers <--- only after COMMIT <----------------+
//
// Two batches may be on their way at a time: while PostgreSQL works on one, the next is judged and sent.
//
// # Foreseen and locked
//
// The writer remembers how it left each account. A batch of accounts that it knows is judged by that memory and sent at once,
// with no lock before it. That is safe because the database checks everything that the memory may be wrong about: posting
// takes sequence number, balance and last transfer of either account for what they must have been, frozen accounts do
// not move, and a key is unique. If anything differs, nothing of the batch happens, and it is settled the other way:
//
//	BEGIN; lock accounts in id order; look the keys up     then judge, INSERT, COMMIT as above
//
// So is a batch of which an account is unknown, and one in which something is refused: what does not move money the database
// does not check. After a batch that was not foreseen the next ones are locked, the more of them the more often it
// happens. Instances that share accounts therefore lock most of the time.
//
// Keys are looked up after the locks. Whoever else holds one of the accounts, a twin of the request on another instance or
// our own transaction whose connection broke during COMMIT, has to finish first, and READ COMMITTED then shows what became
// of it. Trying a batch again under locks is for that reason all there is to recovery: what was done is found, what was not
// is done.
//
// An order that this process answered lately does not come so far: its stored answer is read by the key alone (replay.go).
//
// Every refusal is decided in judge, before the writes, because a failing statement would take the whole batch with it.
//
// Open judge.go first, then batch.go, foresight.go, queue.go, store_writer.go and store_rows.go.
package transfers
