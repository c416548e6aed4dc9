// Limiter compares the bank's limits with other Go limiters, all in one process and in turns, and prints tables in
// Markdown. `make bench-limiter` runs it.
//
//	limiter -only http -rounds 300        one table, with more rounds
//	REDIS_URL=redis://127.0.0.1:6379 limiter -only redis
package main

import (
	"flag"
	"runtime/debug"
	"slices"
	"strings"

	"example.com/bankapi/bench"
)

func main() {
	r := runner{}
	only := flag.String("only", "decisions,memory,crowd,redis,http", "tables to make, by comma")
	flag.IntVar(&r.rounds, "rounds", 60, "turns of each contender; more give steadier medians")
	flag.Parse()

	bench.PrintMachine("chi", "httprate", "throttled", "ulule", "go-limiter", "redis", "x/time")
	tables := []struct {
		name string
		make func(*runner)
	}{
		{"decisions", (*runner).decisions},
		{"memory", (*runner).memory},
		{"crowd", (*runner).crowd},
		{"redis", (*runner).redis},
		{"http", (*runner).http},
	}
	for _, table := range tables {
		if slices.Contains(strings.Split(*only, ","), table.name) {
			table.make(&r)
			debug.FreeOSMemory()
		}
	}
}

// runner makes the tables.
type runner struct{ rounds int }
