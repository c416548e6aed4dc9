package main

import (
	"context"
	"time"

	"github.com/alecthomas/kong"

	"example.com/bankapi/internal/lab"
)

// capacityCommand works out what a load needs and what the database can carry, or measures the latter. Its defaults are
// lab.LessonLoad.
type capacityCommand struct {
	Rate        int64         `default:"50000" placeholder:"N" help:"Requests that arrive a second. Default 50000."`
	Instances   int64         `default:"20" placeholder:"N" help:"Instances of the API. Default 20."`
	Latency     time.Duration `default:"80ms" placeholder:"TIME" help:"How long a request is under way. Default 80ms."`
	Connections int64         `default:"100" placeholder:"N" help:"Connections to the database, of all instances together. Default 100."`
	QueryTime   time.Duration `default:"5ms" placeholder:"TIME" help:"How long a transfer occupies one of them. Default 5ms."`
	Share       int64         `default:"80" placeholder:"PERCENT" help:"How much of the ceiling the global limit admits. Default 80."`
	JSON        bool          `name:"json" help:"Print the result as JSON."`

	Measure   bool          `help:"Find the ceiling by loading a bank on this machine, instead of working it out. Of the flags above only --share and --json count."`
	StageTime time.Duration `default:"2s" placeholder:"TIME" help:"How long each number of connections is measured, after half of that to warm up. Default 2s."`
	Yes       bool          `help:"Measure the server of --database-url, too: it will be busy with nothing else, and its data are not touched."`
}

// Help is what capacity --help says beyond its flags.
func (capacityCommand) Help() string {
	return `Limits per caller are fair, but say nothing about all callers together. This works out the limit that does:

  in flight     = rate x latency                  Little's law: what must be held at any moment
  ceiling       = connections / query time        what the database can do, whatever is asked
  excess        = rate - ceiling                  what must be refused early, or it queues for ever
  global limit  = 80 % of the ceiling             so that a slow minute is no outage

Examples:

  bankapi capacity                                a bank on pay day
  bankapi capacity --rate 3000 --instances 2 --connections 20 --query-time 4ms
  bankapi capacity --share 70 --json
  bankapi capacity --measure                      this machine: half a minute, and the line for the policy file

--measure starts a private PostgreSQL in the data directory, on whose disk the bank's own would be, and a bank with every
limit counted in memory. It sends transfers over more and more connections until that no longer helps; then it sends them
at the pace of the global limit, and shows how long callers wait. All of it is removed again. What else runs on the machine
lowers the ceiling, and so does the load itself, which shares the processors: it errs on the safe side.`
}

// BeforeReset comes before --help is obeyed.
func (*capacityCommand) BeforeReset(line *kong.Context) error {
	return hideFlagsOfTheBank(line, "database-url", "data-dir")
}

// Run prints the arithmetic step by step, or what was measured.
func (x capacityCommand) Run(ctx context.Context, p *program) error {
	if x.Measure {
		return x.measure(ctx, p)
	}
	found, err := lab.Plan(lab.Load{
		Rate: x.Rate, Instances: x.Instances, Latency: x.Latency,
		Connections: x.Connections, QueryTime: x.QueryTime, Share: x.Share,
	})
	if err != nil {
		return err
	}
	if x.JSON {
		return printJSON(p.out, found)
	}
	return found.Report().Write(p.out)
}
