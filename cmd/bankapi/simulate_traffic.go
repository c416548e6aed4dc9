package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"example.com/bankapi/internal/lab"
	"example.com/bankapi/internal/ratelimit"
)

// trafficCommand plays requests that its flags describe.
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
