// Package bench compares the bank's limits with the limiters that Go programs use otherwise, and its refusals with a bare
// router. It is a module of its own, so that none of them is in the bank's go.mod.
//
//	limiters.go    every limiter in memory behind one function     decisions, memory, contention
//	redis.go       one and three policies against redis_rate       calls by 32 goroutines
//	servers.go     the same small API behind each limiter          requests over loopback, by load.go
//	rounds.go      how all of it is measured: in turns
//	cmd/limiter    measures and prints; go test -bench . does the same one after the other
//
// A number from one machine and one moment says little; a ratio of two contenders that took turns in the same seconds does.
// So rounds.go lets each contender work for a slice of time, goes round many times, and compares medians.
package bench
