package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/sync/errgroup"

	"example.com/bankapi/internal/httpapi"
	"example.com/bankapi/internal/lab"
	"example.com/bankapi/internal/load"
	"example.com/bankapi/internal/postgres"
	"example.com/bankapi/internal/ratelimit/policyfile"
	"example.com/bankapi/internal/telemetry"
)

// Who pays while a machine is measured: enough that no two transfers at a time often meet on one account.
const (
	measuredUsers    = 100
	measuredAccounts = 10 // of each
)

// measure loads a bank of its own with more and more connections until that no longer helps.
func (x capacityCommand) measure(ctx context.Context, p *program) (err error) {
	if x.Share < 1 || x.Share > 100 {
		return fmt.Errorf("--share: must be 1 to 100, is %d", x.Share)
	}
	if x.StageTime < 100*time.Millisecond || x.StageTime > time.Minute {
		return fmt.Errorf("--stage-time: must be 100ms to 1m, is %v", x.StageTime)
	}
	scratch, err := openScratch(ctx, p, x.Yes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scratch.drop(context.WithoutCancel(ctx))) }()
	found, err := measureOn(ctx, p, scratch, x)
	if err != nil {
		return err
	}
	if x.JSON {
		return printJSON(p.out, found)
	}
	if err := found.Report().Write(p.out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "\nIn the policy file, which `bankapi serve` takes from --limits-file (LIMITS_FILE):\n\n  %s\n", found.Policy())
	return err
}

func measureOn(ctx context.Context, p *program, db *scratch, x capacityCommand) (lab.Measured, error) {
	if err := migrate(ctx, p, db.url); err != nil {
		return lab.Measured{}, err
	}
	pool, err := postgres.Open(ctx, db.url, postgres.Options{AppName: "bankapi-capacity"})
	if err != nil {
		return lab.Measured{}, err
	}
	defer pool.Close()
	crowd, err := load.Gather(ctx, pool, measuredUsers, measuredAccounts, func() {})
	if err != nil {
		return lab.Measured{}, err
	}
	var found lab.Measured
	err = withBank(ctx, p, pool, func(ctx context.Context, address string, b *bank) error {
		m := machine{address: address, crowd: crowd, time: x.StageTime, bar: newStageBar()}
		if found, err = m.climb(ctx, x.Share); err != nil {
			return err
		}
		return b.mustAddUp(ctx)
	})
	return found, err
}

// withBank runs work beside a bank that is wired and served as `bankapi serve` does it. Limits are counted in memory and
// too wide to refuse anything, and the log is written to nowhere: a Redis that other banks use is left alone.
func withBank(ctx context.Context, p *program, pool *pgxpool.Pool, work func(ctx context.Context, address string, b *bank) error) error {
	limits, err := policyfile.Parse(load.Limits(), httpapi.Routes())
	if err != nil {
		return err
	}
	own := *p
	own.redisURL, own.maxConnections = "", 10_000
	if own.log, err = telemetry.NewLogger(io.Discard, "json", "info"); err != nil {
		return err
	}
	b, err := newBank(ctx, &own, policyfile.NewLive(limits), pool)
	if err != nil {
		return err
	}
	defer b.limits.close()
	door, err := listen(ctx, "listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	doors := &doors{api: door}
	defer doors.close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var group errgroup.Group
	group.Go(func() error { return b.open(ctx, &own, doors, &database{}) })
	err = work(ctx, door.Addr().String(), b)
	stop()
	return errors.Join(err, group.Wait())
}

// mustAddUp audits the ledger: a ceiling that loses money is none.
func (b *bank) mustAddUp(ctx context.Context) error {
	report, err := b.ledger.Integrity(ctx)
	if err == nil && !report.OK() {
		err = fmt.Errorf("the ledger does not add up after the load: %d faults", len(report.Faults))
	}
	return err
}

// machine is a bank under load.
type machine struct {
	address string
	crowd   *load.Crowd
	time    time.Duration // of a stage
	bar     *progressbar.ProgressBar
}

// climb goes up the ladder of connections until that no longer helps, and then asks at the pace of the limit that follows.
func (m machine) climb(ctx context.Context, share int64) (lab.Measured, error) {
	defer func() { _ = m.bar.Finish() }()        // what the line shows is gone with it
	if _, err := m.load(ctx, 1, 0); err != nil { // connections are made and caches filled: whatever the answers are
		return lab.Measured{}, err
	}
	var stages []lab.Stage
	for _, n := range lab.Ladder {
		s, err := m.stage(ctx, n, 0)
		if err != nil {
			return lab.Measured{}, err
		}
		if stages = append(stages, s); lab.Levelled(stages) {
			break
		}
	}
	found, best, err := lab.Measure(stages, share)
	if err != nil {
		return lab.Measured{}, err
	}
	found.AtLimit, err = m.stage(ctx, best.Connections, float64(found.GlobalLimit))
	return found, err
}

// stage loads the bank with some connections.
func (m machine) stage(ctx context.Context, connections int, rate float64) (lab.Stage, error) {
	result, err := m.load(ctx, connections, rate)
	refused := result.Answers[http.StatusServiceUnavailable]
	if err == nil && refused == 0 {
		err = result.Expect(http.StatusCreated)
	}
	if err != nil {
		return lab.Stage{}, fmt.Errorf("%d connections: %w", connections, err)
	}
	_ = m.bar.Add(1)
	return lab.Stage{
		Connections: connections, PerSecond: result.PerSecond(), P50: result.Latency(0.5), P99: result.Latency(0.99), Refused: refused,
	}, nil
}

// load sends transfers, as fast as they are answered or, if there is one, at a rate.
func (m machine) load(ctx context.Context, connections int, rate float64) (load.Result, error) {
	begun := time.Now()
	return load.Run{
		Addresses: []string{m.address}, Connections: connections, Requests: m.crowd.Payments(false),
		WarmUp: m.time / 2, Time: m.time, Rate: rate,
		Watch: func(answers int64) {
			m.bar.Describe(fmt.Sprintf("%d connections: %.0f transfers/s", connections, float64(answers)/time.Since(begun).Seconds()))
		},
	}.Do(ctx)
}

// newStageBar shows on a terminal how far it is; where nobody watches, nothing is written.
func newStageBar() *progressbar.ProgressBar {
	info, err := os.Stderr.Stat()
	return progressbar.NewOptions(len(lab.Ladder)+1,
		progressbar.OptionSetWriter(os.Stderr), progressbar.OptionClearOnFinish(), progressbar.OptionShowCount(),
		progressbar.OptionSetVisibility(err == nil && info.Mode()&os.ModeCharDevice != 0))
}
