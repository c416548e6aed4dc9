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
//	Transfer ---> queue (bounded) ---> take all ---> BEGIN; lock accounts in id order; look the keys up
//	                   ^                                |
//	Transfer ----------+                             judge: pure Go, in order of arrival
//	                                                    |
//	    answers <--- only after COMMIT <------------- INSERT transfers (posts), INSERT keys; COMMIT;
//	                                                    BEGIN, locks and keys of those who wait by then
//
// What ends a batch and what begins the next leave together, so that while there is work a batch costs one round trip.
// The server confirms the COMMIT before it waits for the next locks.
//
// Keys are looked up after the locks. Whoever else holds one of the accounts, a twin of the request on another instance or
// our own transaction whose connection broke during COMMIT, has to finish first, and READ COMMITTED then shows what became
// of it. Trying a batch again is for that reason all there is to recovery: what was done is found, what was not is done.
//
// Every refusal is decided in judge, before the writes, because a failing statement would take the whole batch with it.
//
// Open judge.go first, then batch.go, queue.go, store_writer.go and store_rows.go.
package transfers
