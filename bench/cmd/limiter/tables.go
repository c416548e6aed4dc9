package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"example.com/bankapi/bench"
	"example.com/bankapi/internal/ratelimit/redisstore"
)

const (
	slice    = 10 * time.Millisecond // one turn of a decision in memory
	netSlice = 40 * time.Millisecond // one turn of anything that talks to a socket
)

// decisions lets each limiter take one unit for known keys.
func (r *runner) decisions() {
	for _, n := range []int{10_000, 1_000_000} {
		keys := bench.Keys(n)
		bar := bench.NewBar(fmt.Sprintf("decisions at %d keys", n), len(bench.Limiters)*(r.rounds+1))
		var contenders []bench.Contender
		allocs := map[string]float64{}
		for _, l := range bench.Limiters {
			work := bench.Each(bench.Known(l, keys), keys)
			allocs[l.Name], _ = bench.Allocations(work)
			contenders = append(contenders, bench.Contender{Name: l.Name, Work: work})
			bar()
		}
		fmt.Printf("\n### One decision in memory, %d keys\n\n", n)
		bench.Table("limiter", "ns", "CPU ns", "allocations", "CPU against bankapi")
		for i, res := range bench.Rounds(contenders, r.rounds, slice, bar) {
			bench.Row(res.Name+" ("+bench.Limiters[i].Note+")", ns(res.Wall), ns(res.CPU), fmt.Sprintf("%.0f", allocs[res.Name]), times(1/res.CPUSpeed))
		}
	}
}

// memory fills each limiter with keys.
func (r *runner) memory() {
	sizes := []int{1, 10_000, 1_000_000}
	bar := bench.NewBar("memory", len(bench.Limiters)*len(sizes))
	fmt.Printf("\n### Bytes kept for each key\n\n")
	bench.Table("limiter", "1 key", "10,000 keys", "1,000,000 keys")
	for _, l := range bench.Limiters {
		if strings.HasPrefix(l.Name, "bankapi ") {
			continue // the same store again
		}
		cells := []string{l.Name}
		for _, n := range sizes {
			cells = append(cells, strconv.FormatInt(bench.BytesPerKey(l, n), 10))
			bar()
		}
		bench.Row(cells...)
	}
}

// crowd lets 32 goroutines take from one key.
func (r *runner) crowd() {
	failed := make([]atomic.Int64, len(bench.Limiters))
	var contenders []bench.Contender
	for i, l := range bench.Limiters {
		contenders = append(contenders, bench.Contender{Name: l.Name, Work: bench.Crowd(l.New(), bench.Callers, &failed[i])})
	}
	results := bench.Rounds(contenders, r.rounds, slice, bench.NewBar("one key", len(contenders)*r.rounds))
	fmt.Printf("\n### One key, %d goroutines\n\n", bench.Callers)
	bench.Table("limiter", "ns", "CPU ns", "errors")
	for i, res := range results {
		bench.Row(res.Name, ns(res.Wall), ns(res.CPU), strconv.FormatInt(failed[i].Load(), 10))
	}
}

// redis asks one server on loopback.
func (r *runner) redis() {
	url, stop, err := redisServer()
	if err != nil {
		fmt.Printf("\nNo Redis: %v\n", err)
		return
	}
	defer stop()
	client, err := redisstore.Open(url)
	if err != nil {
		fmt.Printf("\nNo Redis: %v\n", err)
		return
	}
	defer client.Close()
	contenders := bench.RedisContenders(client)
	results := bench.Rounds(contenders, r.rounds, netSlice, bench.NewBar("Redis", len(contenders)*r.rounds))
	fmt.Printf("\n### Redis on loopback, %d goroutines\n\n", bench.Callers)
	bench.Table("call", "µs", "client CPU µs", "script µs", "time against redis_rate", "client CPU against redis_rate")
	for i, res := range results {
		script := bench.ScriptTime(client, contenders[i].Work, 2000)
		bench.Row(res.Name, micros(res.Wall), micros(res.CPU), micros(script), times(1/res.Speed), times(1/res.CPUSpeed))
	}
}

// http asks servers on loopback, with either client.
func (r *runner) http() {
	r.requests("a bare client", bench.Servers{})
	r.requests("net/http's client", bench.Servers{GoClient: true})
}

func (r *runner) requests(client string, servers bench.Servers) {
	defer servers.Close()
	contenders := servers.HTTPContenders()
	results := bench.Rounds(contenders, r.rounds, netSlice, bench.NewBar("HTTP", len(contenders)*r.rounds))
	fmt.Printf("\n### HTTP on loopback, %d connections, %s\n\n", bench.Connections, client)
	bench.Table("handler", "requests/s", "CPU µs", "of bare chi", "of bare chi by CPU")
	for _, res := range results {
		bench.Row(res.Name, fmt.Sprintf("%.0f", float64(time.Second)/float64(res.Wall)), micros(res.CPU),
			fmt.Sprintf("%.2f", res.Speed), fmt.Sprintf("%.2f", res.CPUSpeed))
	}
}

func ns(d time.Duration) string { return strconv.FormatInt(d.Nanoseconds(), 10) }

func micros(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Microsecond)) }

func times(f float64) string { return fmt.Sprintf("%.2fx", f) }
