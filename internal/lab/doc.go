// Package lab holds the experiments that show how limits behave: which algorithm admits what, what a key decides, what
// sharing a counter changes, what a bank can carry. `bankapi simulate` and `bankapi capacity` print them.
//
//	Request, Request, ...                 traffic.go: a fixed list, steady, bursts, Poisson, a file
//	   |
//	Play: the bank's own store,           run.go
//	on a clock that the requests set
//	   |
//	Run: each Answer, the most admitted   -> Report (a table), JSON, Picture (SVG)
//	in any span, units left over time
//
// Nothing here counts by itself: every decision is made by ratelimit's algorithms in ratelimit's memory store, the ones
// that serve requests. Time is virtual, so an hour takes no time and the same input always gives the same output.
//
// One experiment, one file, one result type, which the tests compare with the figures of the lesson and the commands
// print. Open compare.go first.
//
// Pictures are written as plain SVG by svg.go and not by a plotting library: the two kinds of chart needed here are some
// two hundred lines, they follow the reader's light or dark theme, which a library that bakes colours in cannot, and
// the module stays free of fonts and rasterisers.
package lab
