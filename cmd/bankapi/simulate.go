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
	Calendar calendarCommand `cmd:"" help:"Days and months in a time zone, also those with an hour too few or too many."`
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
  bankapi simulate calendar --zone Africa/Lagos     where a day ends, and how long it was
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
		logRedis(p.log)
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
