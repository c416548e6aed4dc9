package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/clientip"
	"example.com/bankapi/internal/httpapi"
	"example.com/bankapi/internal/idempotency"
	"example.com/bankapi/internal/postgres"
	"example.com/bankapi/internal/ratelimit/policyfile"
	"example.com/bankapi/internal/rates"
	"example.com/bankapi/internal/telemetry"
	"example.com/bankapi/internal/transfers"
	"example.com/bankapi/internal/webhooks"
)

type serveCommand struct{}

// headroom asks for memory that is never touched, so that it takes none. The collector runs when the heap has doubled: a bank
// that keeps 20 MB and drops 200 MB a second under load would have it run all the time. GOGC works as ever; under
// GOMEMLIMIT, of which it would use up a part, there is none.
func headroom() []byte {
	if debug.SetMemoryLimit(-1) < math.MaxInt64 {
		return nil
	}
	return make([]byte, 64<<20)
}

// Run starts the bank and returns when it has stopped in good order: what was opened first is closed last.
func (serveCommand) Run(ctx context.Context, p *program) (err error) {
	defer runtime.KeepAlive(headroom())
	policies, err := policyfile.Open(p.limitsFile, httpapi.Routes())
	if err != nil {
		return err
	}
	doors, err := openDoors(ctx, p)
	if err != nil {
		return err
	}
	defer doors.close()

	db, err := openDatabase(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.stop()) }()
	if err := migrate(ctx, p, db.url); err != nil {
		return err
	}
	pool, err := postgres.Open(ctx, db.url, postgres.Options{})
	if err != nil {
		return err
	}
	defer pool.Close()

	var demo seeded
	if p.demo {
		if demo, err = seed(ctx, pool); err != nil {
			return err
		}
	}
	b, err := newBank(ctx, p, policies, pool)
	if err != nil {
		return err
	}
	defer b.limits.close()
	if err := welcome(ctx, p, doors, db, pool, demo); err != nil {
		return err
	}
	if len(p.faults) > 0 {
		p.log.Warn("FAULTS ARE ON: this bank harms itself on purpose, see --fault", "faults", len(p.faults))
	}
	return b.open(ctx, p, doors, db)
}

// bank is the program's parts, wired by hand.
type bank struct {
	accounts *auth.Service
	ledger   *transfers.Service
	hooks    *webhooks.Service
	keys     idempotency.Store
	limits   *limits
	api      http.Handler
	admin    http.Handler
	timeout  time.Duration // of one request
}

func newBank(ctx context.Context, p *program, policies *policyfile.Live, pool *pgxpool.Pool) (*bank, error) {
	metrics := telemetry.New()
	metrics.WatchPool("main", pool.Stat)
	ready, err := postgres.Ready(pool)
	if err != nil {
		return nil, err
	}
	limits, err := newLimits(ctx, p, policies, pool, &httpapi.LimitObserver{Log: p.log, Metrics: metrics})
	if err != nil {
		return nil, err
	}
	b := &bank{
		accounts: auth.New(pool, auth.Options{Log: p.log, MailReset: mailReset(p.mail, p.log)}),
		ledger: transfers.New(pool, transfers.Options{
			Log: p.log, OpeningCredit: p.openingCredit, Fault: p.faults.ledger(p.log),
			Settled: func(orders int, accounts transfers.Known) { metrics.Batch(orders, string(accounts)) },
		}),
		hooks:   newWebhooks(p, pool, metrics),
		keys:    idempotency.Store{Pool: pool},
		limits:  limits,
		timeout: p.requestTimeout,
	}
	deps := httpapi.Deps{
		Auth: b.accounts, Transfers: b.ledger, Webhooks: b.hooks, Keys: b.keys, Rates: rates.Store{Pool: pool},
		Limiter: limits.limiter, Limits: policies,
		ClientIP: clientip.Resolver{Trusted: p.trustedProxies}, Ready: ready,
		Now: time.Now, Log: p.log, Metrics: metrics,
		Timeout: p.requestTimeout, Origins: p.origins, BehindTLS: p.behindTLS,
	}
	b.api, b.admin = p.faults.api(httpapi.New(deps), p.log), httpapi.NewAdmin(deps)
	return b, nil
}

// open lets callers in until ctx ends or the private database does. Then, in this order: no new requests, those in
// flight are answered, the batcher commits what it took, the rest stops.
func (b *bank) open(ctx context.Context, p *program, doors *doors, db *database) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	lasting, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	var background errgroup.Group
	for _, work := range []func(context.Context) error{b.ledger.Run, b.accounts.Listen, b.accounts.SendResets, b.hooks.Run, b.limits.run, b.tidy(p.log)} {
		background.Go(func() error { return work(lasting) })
	}

	background.Go(func() error {
		select {
		case <-db.ended():
			stop(errDatabaseEnded)
		case <-ctx.Done():
		}
		p.log.Info("stopping: no new requests, those in flight are answered", "reason", context.Cause(ctx))
		return nil
	})

	sites := []site{newSite(limitConnections(doors.api, p.maxConnections), b.api, b.timeout, p.log)}
	if doors.admin != nil {
		sites = append(sites, newSite(doors.admin, b.admin, profileTime, p.log))
	}
	err := serveSites(ctx, p.shutdownGrace, sites)
	stop(err)
	stopBackground()
	err = errors.Join(err, background.Wait())
	if errors.Is(context.Cause(ctx), errDatabaseEnded) {
		err = errors.Join(fmt.Errorf("%w: its log is %s/postgres.log", errDatabaseEnded, p.dataDir), err)
	}
	return err
}

var errDatabaseEnded = errors.New("the private PostgreSQL ended by itself")

// doors are the listeners. They are opened first, so that an address in use is known at once.
type doors struct{ api, admin net.Listener }

func openDoors(ctx context.Context, p *program) (*doors, error) {
	api, err := listen(ctx, "listen", p.listen)
	if err != nil {
		return nil, err
	}
	d := &doors{api: api}
	if p.adminListen == "" {
		return d, nil
	}
	if d.admin, err = listen(ctx, "admin-listen", p.adminListen); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// close matters only where nothing was served: a server closes its own listener.
func (d *doors) close() {
	_ = d.api.Close()
	if d.admin != nil {
		_ = d.admin.Close()
	}
}
