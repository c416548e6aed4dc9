package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"example.com/bankapi/internal/load"
)

// Which ledger a contender's transfers are in.
const (
	inNone = iota // it makes none
	inBank
	inPeer
)

// contender is one row of a table.
type contender struct {
	kind    string // as -skip names it
	name    string
	clients int
	ledger  int
	lasting bool // no checkpoint before its turns: it is too slow to be through with writing every page it touches in full
	slice   func(ctx context.Context, warmUp, length time.Duration) (sample, error)
}

const (
	kindBank       = "bank"
	kindPaced      = "paced"
	kindPair       = "pair"
	kindOneTrip    = "onetrip"
	kindStatements = "statements"
	kindHTTP       = "http"
	kindCeiling    = "ceiling"
)

// pace is the share of what the bank can do that the paced run asks for.
const pace = 0.75

// contest is the contenders of a scenario; the first one is what the others are compared with.
func (r *runner) contest(scenario string) []contender {
	if scenario == "alone" {
		all := []contender{
			r.pgbench("onetrip", "pgbench, one round trip", false, 1),
			r.closed(false, 1),
			r.health(),
		}
		for i := range all {
			all[i].lasting = true
		}
		return r.kept(all)
	}
	hot := scenario == "hot"
	all := []contender{
		r.pgbench("onetrip", "pgbench, one round trip", hot, peerClients),
		r.pgbench("statements", "pgbench, separate statements", hot, peerClients),
	}
	for _, n := range r.connections {
		all = append(all, r.closed(hot, n))
	}
	all = append(all, r.paced(hot), r.pair(hot, r.middle()), r.httpAndJSON(hot, r.middle()))
	return r.kept(append(all, r.others(hot)...))
}

// kept leaves out what -skip names, but for what the others are compared with.
func (r *runner) kept(all []contender) []contender {
	return slices.DeleteFunc(all, func(c contender) bool { return c.kind != kindOneTrip && slices.Contains(r.skip, c.kind) })
}

func (r *runner) pgbench(script, name string, hot bool, clients int) contender {
	return contender{kind: script, name: name, clients: clients, ledger: inPeer,
		slice: func(ctx context.Context, warmUp, length time.Duration) (sample, error) {
			return r.peer.run(ctx, script, hot, clients, warmUp, length)
		}}
}

// closed asks as fast as so many connections are answered.
func (r *runner) closed(hot bool, connections int) contender {
	return contender{kind: kindBank, name: "bankapi", clients: connections, ledger: inBank,
		slice: func(ctx context.Context, warmUp, length time.Duration) (sample, error) {
			s, err := r.measured(ctx, processes{r.bank.process}, load.Run{
				Connections: connections, Requests: r.bank.crowd.Payments(hot),
				WarmUp: warmUp, Time: length, Watch: r.watch,
			}, http.StatusCreated)
			r.rates[connections] = s.perSecond
			return s, err
		}}
}

// middle is the middle one of the numbers of connections.
func (r *runner) middle() int { return r.connections[len(r.connections)/2] }

// paced asks at a share of what the middle one of the numbers of connections was answered at last.
func (r *runner) paced(hot bool) contender {
	n := r.middle()
	return contender{kind: kindPaced, name: fmt.Sprintf("bankapi, paced at %.0f %%", pace*100), clients: n, ledger: inBank,
		slice: func(ctx context.Context, warmUp, length time.Duration) (sample, error) {
			return r.measured(ctx, processes{r.bank.process}, load.Run{
				Connections: n, Requests: r.bank.crowd.Payments(hot),
				WarmUp: warmUp, Time: length, Watch: r.watch, Rate: pace * r.rates[n],
			}, http.StatusCreated)
		}}
}

// pair is two instances of the bank on one database. They surprise each other all the time, and the machine has no more
// processors for it: this shows what that costs.
func (r *runner) pair(hot bool, connections int) contender {
	return contender{kind: kindPair, name: "bankapi, two instances", clients: connections, ledger: inBank,
		slice: func(ctx context.Context, warmUp, length time.Duration) (s sample, err error) {
			second, err := r.bank.serve(ctx, "second.log")
			if err != nil {
				return s, err
			}
			defer func() { err = errors.Join(err, second.stop()) }()
			return r.measured(ctx, processes{r.bank.process, second}, load.Run{
				Connections: connections, Requests: r.bank.crowd.Payments(hot), WarmUp: warmUp, Time: length, Watch: r.watch,
			}, http.StatusCreated)
		}}
}

// health is the least that a request over HTTP costs here.
func (r *runner) health() contender {
	request := []byte("GET /healthz HTTP/1.1\r\nHost: bank.example\r\n\r\n")
	return contender{kind: kindHTTP, name: "GET /healthz", clients: 1, ledger: inNone,
		slice: func(ctx context.Context, warmUp, length time.Duration) (sample, error) {
			return r.measured(ctx, processes{r.bank.process}, load.Run{
				Connections: 1, Requests: func() load.Requests { return func() []byte { return request } },
				WarmUp: warmUp, Time: length,
			}, http.StatusOK)
		}}
}
