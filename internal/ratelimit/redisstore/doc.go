// Package redisstore keeps the counts of package ratelimit in Redis, so that all processes share them. Open first:
// lua/head.lua, where the script is explained; this Go code packs its arguments and reads its answers.
//
//	Take(claims) -> one EVALSHA -> Redis TIME -> read all keys -> decide all -> if all are allowed, write all
//
// One script serves every algorithm, so one round trip decides a request's claims whatever their policies, and the
// server runs it alone: all are charged or none is. A shorter one, lua/buckets.lua, takes buckets without reservations,
// as most requests do. Calls that arrive while round trips are under way share the next one: line.go.
//
// # Keys
//
//	bank:limit:b{7:ada@b.c}4:user              prefix, algorithm, {owner}, policy
//	bank:limit:l{8:10.0.0.1}5:login3:web       ... and the part of the key, where there is one
//	bank:limit:b{7:ada@b.c}4:user!26:01J...    ... and a reservation that may be given back
//
// Parts are length-prefixed, so that no two keys can be made to meet; parts that are long or hold a brace are hashed.
// The braces are a Cluster's hash tag: the keys of one owner live on one node.
//
// # Values
//
//	token, leaky bucket  b, m   string "full early 0/limit"              see ratelimit.Bucket
//	fixed window         w      string "end used 0/limit"
//	sliding counter      c      string "start before current/limit"
//	sliding log          l      sorted set: "instant:units" by instant, and "used" whose score is minus their sum
//	reservation          ...!   string "units taken until/"
//
// The limit ("capacity unit micro") stands beside the count because the count cannot be read without it: when a policy
// is changed at run time, what was consumed stays consumed, at most the new capacity, and nobody waits longer than the
// new limit needs. A day or a month ends by the server's clock too: the script is told two successive boundaries
// (ratelimit.Limit.Bounds) and chooses.
//
// Every write sets the end of its key in the same command or script: the instant, rounded up, at which the key is as
// good as absent. A key that lost its end gets a new one at the next check. Reads never extend it.
//
// # What can go wrong
//
// A key of a foreign type, a script error, a lost connection: an error, never a refusal. NOSCRIPT (a restart, SCRIPT
// FLUSH) costs one more round trip. A Cluster cannot decide claims of several owners together (ErrOwners). The script
// needs Redis 6.2. A failover may forget the last writes, since Redis replicates them later; a maxmemory-policy other
// than noeviction may forget any.
package redisstore
