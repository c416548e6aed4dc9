// Ledger compares the whole bank, limits, credentials, idempotency and log included, with pgbench on a ledger that is
// written as usual. It starts a PostgreSQL of its own and the real program, lets the contenders take turns, audits both
// ledgers after each round, and prints tables in Markdown. `make bench-ledger` runs it.
//
//	ledger -only uniform -connections 128 -rounds 1 -seconds 4 -skip statements,paced      a quick look
//
// Open contenders.go, then rounds.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"example.com/bankapi/bench"
)

// accountsEach is how many accounts a user has.
const accountsEach = 10

// options are the flags.
type options struct {
	only, skip, connections, dir, program, other string
	rounds, seconds, users                       int
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == asCeiling {
		exit(serveCeiling(os.Stdin, os.Stdout))
	}
	var o options
	flag.StringVar(&o.only, "only", "uniform,hot,alone", "scenarios, by comma")
	flag.StringVar(&o.connections, "connections", "32,128,512", "connections to the bank, by comma")
	flag.StringVar(&o.skip, "skip", "", "contenders to leave out, by comma: bank, paced, pair, statements, http, ceiling")
	flag.IntVar(&o.rounds, "rounds", 3, "turns of each contender")
	flag.IntVar(&o.seconds, "seconds", 5, "length of a turn")
	flag.IntVar(&o.users, "users", 1000, fmt.Sprintf("users, with %d accounts each", accountsEach))
	flag.StringVar(&o.program, "bankapi", "", "a bank that is built already, to compare two versions; without it, that of this repository is built")
	flag.StringVar(&o.other, "other", "", "file that describes somebody else's ledger, to run beside the others: see README.md")
	flag.StringVar(&o.dir, "dir", "../.bankapi/bench", "where data and logs are while it runs; take a real disk, or waiting for it costs nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "ledger:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context, o options) (err error) {
	r := &runner{rounds: o.rounds, seconds: o.seconds, skip: strings.Split(o.skip, ",")}
	if r.connections, err = numbers(o.connections); err != nil {
		return fmt.Errorf("-connections: %w", err)
	}
	if o.rounds < 1 || o.seconds < 1 || o.users < 1 {
		return errors.New("-rounds, -seconds and -users must be at least 1")
	}
	scenarios := strings.Split(o.only, ",")
	for _, s := range scenarios {
		if titles[s] == "" {
			return fmt.Errorf("-only: %q is none of uniform, hot, alone", s)
		}
	}
	if o.other != "" {
		if r.other, err = readOther(o.other); err != nil {
			return fmt.Errorf("-other: %w", err)
		}
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	stop, err := r.start(ctx, o, dir)
	if err == nil {
		err = r.report(ctx, o, scenarios)
	}
	if err = errors.Join(err, stop()); err != nil {
		return fmt.Errorf("%w\nThe logs are in %s", err, dir)
	}
	return os.RemoveAll(dir)
}

// start brings up the server and both ledgers in an empty dir. stop ends what was started, in any case.
func (r *runner) start(ctx context.Context, o options, dir string) (stop func() error, err error) {
	var ends []func() error
	stop = func() (err error) {
		for i := range ends {
			err = errors.Join(err, ends[len(ends)-1-i]())
		}
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return stop, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return stop, err
	}
	if r.server, err = startServer(ctx, dir); err != nil {
		return stop, err
	}
	ends = append(ends, func() error { return r.server.stop(context.WithoutCancel(ctx)) })
	if r.peer, err = newPeer(ctx, r.server, dir, o.users); err != nil {
		return stop, err
	}
	if r.bank, err = startBank(ctx, r.server, o.program, dir, o.users); err != nil {
		return stop, err
	}
	ends = append(ends, r.bank.stop)
	if r.ceiling, err = startCeiling(ctx); err != nil {
		return stop, err
	}
	ends = append(ends, r.ceiling.stop)
	return stop, nil
}

func (r *runner) report(ctx context.Context, o options, scenarios []string) error {
	server, err := r.server.describe(ctx)
	if err != nil {
		return err
	}
	bench.PrintMachine("chi", "pgx")
	fmt.Printf("%s\n%d accounts of %d users; medians of %d rounds of %d s, the contenders in turns.\n",
		server, o.users*accountsEach, o.users, o.rounds, o.seconds)
	found := map[string]contestResult{}
	for _, scenario := range scenarios {
		if found[scenario], err = r.contend(ctx, scenario); err != nil {
			return err
		}
		found[scenario].print(scenario)
	}
	printGoals(found)
	fmt.Printf("\nBoth ledgers add up after each round. The bank holds %d transfers, which is how often it answered 201; pgbench's %d.\n",
		r.done[inBank], r.done[inPeer])
	return nil
}

func numbers(csv string) ([]int, error) {
	var all []int
	for word := range strings.SplitSeq(csv, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number of connections", word)
		}
		all = append(all, n)
	}
	return all, nil
}
