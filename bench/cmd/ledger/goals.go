package main

import (
	"fmt"
	"time"

	"example.com/bankapi/bench"
)

// goal is what the bank should reach on a machine with two cores, and what it did.
type goal struct{ what, wanted, got, note string }

// printGoals compares what was measured with what was wanted. What did not take part has no row.
func printGoals(found map[string]contestResult) {
	var goals []goal
	for _, g := range []struct {
		scenario string
		clients  int
		times    float64
	}{{"uniform", 128, 1.8}, {"uniform", 512, 2.2}, {"hot", 128, 10}, {"hot", 512, 14}} {
		c := found[g.scenario]
		if i := c.find(kindBank, g.clients); i >= 0 {
			goals = append(goals, goal{
				what:   fmt.Sprintf("%s, %d connections: transfers/s against pgbench in one round trip, %d clients", g.scenario, g.clients, peerClients),
				wanted: fmt.Sprintf("at least %.1f", g.times), got: fmt.Sprintf("%.2f", c.ratio(i)), note: reached(c.ratio(i) >= g.times),
			})
		}
	}
	for _, scenario := range []string{"uniform", "hot"} {
		goals = append(goals, tail(scenario, found[scenario])...)
	}
	if goals = append(goals, alone(found["alone"])...); len(goals) == 0 {
		return
	}
	fmt.Print("\n### Goals\n\n")
	bench.Table("what", "wanted", "came out", "")
	for _, g := range goals {
		bench.Row(g.what, g.wanted, g.got, g.note)
	}
}

func tail(scenario string, c contestResult) []goal {
	const most = 25 * time.Millisecond
	i := c.find(kindBank, 128)
	if i < 0 {
		return nil
	}
	got, peers := medianOf(c.samples[i], p99), medianOf(c.samples[0], p99)
	return []goal{{
		what:   fmt.Sprintf("%s, 128 connections: p99 (pgbench's with %d clients: %s ms)", scenario, peerClients, millis(peers)),
		wanted: "at most 25 ms", got: millis(got) + " ms", note: reached(got <= most),
	}}
}

// alone compares medians: a transfer over HTTP may cost half as much again as the transfer and the HTTP do apart.
func alone(c contestResult) []goal {
	bank, http := c.find(kindBank, 1), c.find(kindHTTP, 1)
	if bank < 0 || http < 0 {
		return nil
	}
	var ratios []float64
	for round, s := range c.samples[bank] {
		apart := c.samples[0][round].p50 + c.samples[http][round].p50
		ratios = append(ratios, float64(s.p50)/float64(max(apart, 1)))
	}
	return []goal{{
		what:   "alone: p50 against that of pgbench's transfer in one round trip plus that of GET /healthz",
		wanted: "at most 1.5", got: fmt.Sprintf("%.2f", median(ratios)), note: reached(median(ratios) <= 1.5),
	}}
}

func reached(ok bool) string {
	if ok {
		return "reached"
	}
	return "missed"
}
