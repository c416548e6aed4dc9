package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"example.com/bankapi/internal/lab"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/redisstore"
)

// simulateCommand shows what limits do, on virtual time. Nothing needs to run for it.
type simulateCommand struct {
	JSON bool   `name:"json" help:"Print the result as JSON instead of a table; times are in milliseconds unless named otherwise."`
	SVG  string `name:"svg" placeholder:"FILE" help:"Also draw the result into this file; '-' prints the picture instead of the table."`

	Boundary boundaryCommand `cmd:"" help:"Twice the limit at the edge between two fixed windows."`
	Timeline timelineCommand `cmd:"" help:"A token bucket request by request: what is left, how long to wait."`
	Compare  compareCommand  `cmd:"" help:"The same 25 requests, four algorithms."`
	Keys     keysCommand     `cmd:"" help:"Limit by address, by API key, or in layers: who is refused for whom?"`
	Property propertyCommand `cmd:"" help:"Random traffic looks for ten seconds in which a limit is broken."`
	Daily    dailyCommand    `cmd:"" help:"A day's quota before and after midnight."`
	Sweep    sweepCommand    `cmd:"" help:"What a store may forget, and when."`
	Shared   sharedCommand   `cmd:"" help:"Three instances with a counter each, or with one between them."`
	Traffic  trafficCommand  `cmd:"" default:"withargs" help:"Traffic of your own, your limit, the algorithms of your choice."`
}

// Help is what simulate --help says beyond its flags.
func (simulateCommand) Help() string {
	return `Each experiment sends requests to the limits that the bank itself uses, on a clock that costs no time, and prints
what came of it. The same command always prints the same.

Examples:

  bankapi simulate                                  lists the experiments
  bankapi simulate compare                          20, 10, 11 and 12 of 25: four algorithms side by side
  bankapi simulate compare --svg compare.svg        the same as a picture
  bankapi simulate --traffic burst --limit 10/10s   traffic of your own
  bankapi simulate traffic --help                   what traffic there is`
}

// BeforeReset comes before --help is obeyed.
func (*simulateCommand) BeforeReset(line *kong.Context) error {
	return hideFlagsOfTheBank(line, "redis-url")
}

// hideFlagsOfTheBank leaves out of --help what a command that needs no bank does not read.
func hideFlagsOfTheBank(line *kong.Context, but ...string) error {
	for _, flag := range line.Model.Flags {
		flag.Hidden = flag.Hidden || flag.Name != "help" && !slices.Contains(but, flag.Name)
	}
	return nil
}

// result is what every experiment returns; it also marshals to JSON.
type result interface {
	Report() lab.Report
	Picture() lab.Picture
}

// show prints a result in the form asked for.
func (c *simulateCommand) show(p *program, r result) error {
	if c.SVG != "" {
		if err := c.draw(p, r.Picture()); err != nil {
			return err
		}
	}
	switch {
	case c.JSON:
		return printJSON(p.out, r)
	case c.SVG == "-":
		return nil
	}
	return r.Report().Write(p.out)
}

func (c *simulateCommand) draw(p *program, picture lab.Picture) (err error) {
	if c.SVG == "-" {
		if c.JSON {
			return errors.New("--svg - and --json both want the output: name a file for the picture")
		}
		return picture.WriteSVG(p.out)
	}
	file, err := os.Create(c.SVG)
	if err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return picture.WriteSVG(file)
}

func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

type (
	boundaryCommand struct{}
	timelineCommand struct{}
	compareCommand  struct{}
	keysCommand     struct{}
	dailyCommand    struct{}
	sweepCommand    struct{}
)

func (boundaryCommand) Run(c *simulateCommand, p *program) error { return c.show(p, lab.Boundary()) }
func (timelineCommand) Run(c *simulateCommand, p *program) error {
	return c.show(p, lab.TokenTimeline())
}
func (compareCommand) Run(c *simulateCommand, p *program) error { return c.show(p, lab.Compare()) }
func (keysCommand) Run(c *simulateCommand, p *program) error    { return c.show(p, lab.CompareKeys()) }
func (dailyCommand) Run(c *simulateCommand, p *program) error   { return c.show(p, lab.DailyQuota()) }
func (sweepCommand) Run(c *simulateCommand, p *program) error   { return c.show(p, lab.SweepMemory()) }

type propertyCommand struct {
	Seeds []int64 `default:"1,2,3" placeholder:"N,..." help:"Beginnings of the random numbers, from 0 to 2147483647. Default 1,2,3."`
}

func (x propertyCommand) Run(c *simulateCommand, p *program) error {
	for _, seed := range x.Seeds {
		if seed < 0 || seed > 1<<31-1 {
			return fmt.Errorf("--seeds: %d is not from 0 to 2147483647", seed)
		}
	}
	return c.show(p, lab.CheckProperty(x.Seeds))
}

type sharedCommand struct {
	Instances int   `default:"3" placeholder:"N" help:"Instances of the bank. Default 3."`
	Attempts  int   `default:"15" placeholder:"N" help:"Requests, spread over them in turn. Default 15."`
	Limit     int64 `default:"5" placeholder:"N" help:"How many should pass. Default 5."`
}

func (sharedCommand) Help() string {
	return `With --redis-url (or REDIS_URL) the shared counter is in that Redis, under a key of its own that is removed
afterwards; without, it is one memory store that all instances ask.`
}

func (x sharedCommand) Run(ctx context.Context, c *simulateCommand, p *program) error {
	if x.Instances < 1 || x.Attempts < 1 || x.Limit < 1 {
		return errors.New("--instances, --attempts and --limit must be at least 1")
	}
	fleet := lab.Fleet{Instances: x.Instances, Attempts: x.Attempts, Limit: x.Limit}
	if p.redisURL != "" {
		client, err := redisstore.Open(p.redisURL)
		if err != nil {
			return err
		}
		defer client.Close()
		fleet.Counter, fleet.Name = redisstore.New(client, redisstore.Options{}), "redis"
		fleet.Key = ratelimit.Key{Owner: "simulate-" + rand.Text()}
	}
	found, err := lab.Share(ctx, fleet)
	if err != nil && p.redisURL != "" {
		return fmt.Errorf("%w; start that Redis, or leave out --redis-url (REDIS_URL)", err)
	}
	if err != nil {
		return err
	}
	return c.show(p, found)
}

type trafficCommand struct {
	Traffic   string        `placeholder:"KIND" help:"How requests arrive: burst, steady, poisson or file."`
	Rate      float64       `default:"2" placeholder:"N" help:"Requests a second, on average. Default 2."`
	For       time.Duration `default:"60s" placeholder:"TIME" help:"How long they come. Default 60s."`
	Size      int           `default:"20" placeholder:"N" help:"Requests in each burst. Default 20."`
	Seed      uint64        `default:"1" placeholder:"N" help:"Beginning of poisson's random numbers. Default 1."`
	File      string        `placeholder:"FILE" help:"Requests to play: a line each, a time (1.5s, 200ms, a number of seconds) and, if it is not 1, a cost."`
	Limit     string        `default:"10/10s" placeholder:"N/TIME" help:"Units per time, and for buckets a burst: 10/10s, 100/min, '10/1s burst 20'. Default 10/10s."`
	Algorithm []string      `placeholder:"NAME,..." help:"token-bucket, fixed-window, sliding-log, sliding-counter, leaky-bucket. Default: the first four."`
}

func (trafficCommand) Help() string {
	return `Rates are averages: burst sends --size requests at one instant and then nothing until the rate is met again;
steady sends at equal distances; poisson at random instants, as many independent callers do; file plays a list.

Examples:

  bankapi simulate --traffic burst --rate 2 --size 20 --limit 10/10s
  bankapi simulate --traffic poisson --rate 12 --limit '10/1s burst 20' --algorithm token-bucket,sliding-log
  bankapi simulate --traffic poisson --seed 7 --for 5m --svg poisson.svg
  printf '0s 5\n0.5s 5\n1s 1\n' > day.txt; bankapi simulate --traffic file --file day.txt --limit '2/1s burst 10'`
}

// Run plays the traffic; without any, it says what there is.
func (x trafficCommand) Run(line *kong.Context, c *simulateCommand, p *program) error {
	if x.Traffic == "" && x.File == "" {
		if given := firstFlag(line); given != "" {
			return fmt.Errorf("--%s of what? Name an experiment, such as `bankapi simulate compare`, or --traffic burst, steady, poisson or file", given)
		}
		return listExperiments(p.out, line.Selected().Parent)
	}
	name, requests, err := x.requests()
	if err != nil {
		return err
	}
	limit, err := lab.ParseLimit(x.Limit)
	if err != nil {
		return fmt.Errorf("--limit: %w", err)
	}
	var algorithms []ratelimit.Algorithm
	for _, name := range x.Algorithm {
		algorithm, err := lab.ParseAlgorithm(name)
		if err != nil {
			return fmt.Errorf("--algorithm: %w", err)
		}
		algorithms = append(algorithms, algorithm)
	}
	found, err := lab.Free(name, requests, limit, algorithms)
	if err != nil {
		return fmt.Errorf("--limit: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return c.show(p, found)
}

// firstFlag is the first flag on the command line, "" if there is none.
func firstFlag(line *kong.Context) string {
	for _, step := range line.Path {
		if step.Flag != nil && !step.Resolved {
			return step.Flag.Name
		}
	}
	return ""
}

func listExperiments(out io.Writer, simulate *kong.Node) error {
	for _, experiment := range simulate.Children {
		fmt.Fprintf(out, "bankapi simulate %-9s %s\n", experiment.Name, experiment.Help)
	}
	_, err := fmt.Fprint(out, "\nAdd --svg FILE for a picture, --json for the numbers, --help for more.\n")
	return err
}

// requests makes the traffic asked for, and its description.
func (x trafficCommand) requests() (name string, requests []lab.Request, err error) {
	if x.File != "" && x.Traffic == "" {
		x.Traffic = "file"
	}
	rate := strconv.FormatFloat(x.Rate, 'g', -1, 64)
	switch x.Traffic {
	case "burst":
		requests, err = lab.Burst(x.Size, x.Rate, x.For)
		name = fmt.Sprintf("bursts of %d, on average %s/s for %v", x.Size, rate, x.For)
	case "steady":
		requests, err = lab.Steady(x.Rate, x.For)
		name = fmt.Sprintf("steady traffic of %s/s for %v", rate, x.For)
	case "poisson":
		requests, err = lab.Poisson(x.Rate, x.For, x.Seed)
		name = fmt.Sprintf("random traffic of %s/s on average for %v, seed %d", rate, x.For, x.Seed)
	case "file":
		requests, err = readTraffic(x.File)
		name = "the requests of " + x.File
	default:
		err = fmt.Errorf("--traffic: %q is no traffic; there are burst, steady, poisson and file", x.Traffic)
	}
	return name, requests, err
}

func readTraffic(name string) ([]lab.Request, error) {
	if name == "" {
		return nil, errors.New("--traffic file needs --file with a request a line, such as '1.5s' or '2s 5'")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--file: %w", err)
	}
	defer file.Close()
	requests, err := lab.ReadTraffic(file)
	if err != nil {
		return nil, fmt.Errorf("--file %s: %w", name, err)
	}
	return requests, nil
}
