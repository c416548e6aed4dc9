// Limiter compares the bank's limits with other Go limiters, all in one process and in turns, and prints tables in
// Markdown. `make bench-limiter` runs it.
//
//	limiter -only http -rounds 300        one table, with more rounds
//	REDIS_URL=redis://127.0.0.1:6379 limiter -only redis
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

func main() {
	r := runner{}
	only := flag.String("only", "decisions,memory,crowd,redis,http", "tables to make, by comma")
	flag.IntVar(&r.rounds, "rounds", 60, "turns of each contender; more give steadier medians")
	flag.Parse()

	machine()
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

// machine says what the numbers were measured on.
func machine() {
	fmt.Printf("%s, %s, %d cores", time.Now().UTC().Format(time.DateOnly), cpu(), runtime.GOMAXPROCS(0))
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Printf(", load %s", strings.Fields(string(load))[0])
	}
	fmt.Printf("; %s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			for _, peer := range []string{"chi", "httprate", "throttled", "ulule", "go-limiter", "redis", "x/time"} {
				if strings.Contains(m.Path, peer) {
					fmt.Printf("%s %s; ", m.Path, m.Version)
					break
				}
			}
		}
		fmt.Println()
	}
}

func cpu() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // elsewhere than on Linux: unknown
	_, name, _ := strings.Cut(string(info), "model name")
	name, _, _ = strings.Cut(strings.TrimLeft(name, "\t :"), "\n")
	if name == "" {
		return runtime.GOARCH
	}
	return name
}
