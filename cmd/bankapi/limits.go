package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
	_ "time/tzdata" // a policy file may name any time zone, and a container has none

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/breaker"
	"example.com/bankapi/internal/ratelimit/pgstore"
	"example.com/bankapi/internal/ratelimit/policyfile"
	"example.com/bankapi/internal/ratelimit/redisstore"
)

// limits is the limiter and the stores behind it.
type limits struct {
	live    *policyfile.Live
	limiter *ratelimit.Limiter
	hangup  chan os.Signal // asks to read the policy file again
	log     *slog.Logger
	memory  *ratelimit.Memory     // nil where Redis counts
	redis   redis.UniversalClient // nil where memory counts
	guards  *pgstore.Store        // of log-in and sign-up
}

// guardBudget is longer than a request limit's 50 ms: these policies fail closed, so a store that is only slow, while
// passwords are hashed on every processor, must not lock people out.
const guardBudget = time.Second

// newLimits counts requests in Redis if there is one, else in memory. Log-in and sign-up are counted in PostgreSQL in
// any case: guesses are few, must not be forgotten, and are the same guesses on every instance.
func newLimits(
	ctx context.Context, p *program, live *policyfile.Live, pool *pgxpool.Pool, observer ratelimit.Observer,
) (*limits, error) {
	l := &limits{live: live, hangup: make(chan os.Signal, 1), log: p.log, guards: pgstore.New(pool)}
	policies := live.Current() // their names, which no file can change
	guards := l.backend("postgres", l.guards, guardBudget)
	l.limiter = &ratelimit.Limiter{
		Backends: map[string]*ratelimit.Backend{
			policies.LoginAccount.Name:       guards,
			policies.LoginIP.Name:            guards,
			policies.SignUpIP.Name:           guards,
			policies.PasswordResetEmail.Name: guards,
		},
		Observer:  observer,
		Refusals:  ratelimit.NewRefusals(0),
		Denials:   ratelimit.NewDenials(ratelimit.DenialsOptions{}),
		Local:     ratelimit.NewMemory(ratelimit.MemoryOptions{}),
		Instances: cmp.Or(p.fleetSize, int(policies.Instances)),
	}
	if p.redisURL == "" {
		l.memory = ratelimit.NewMemory(ratelimit.MemoryOptions{})
		l.limiter.Default = &ratelimit.Backend{Name: "memory", Store: l.memory}
		return l, nil
	}
	logRedis(p.log)
	client, err := redisstore.Open(p.redisURL)
	if err != nil {
		return nil, err
	}
	l.redis = client
	store := redisstore.New(client, redisstore.Options{})
	l.limiter.Default = l.backend("redis", store, 0)
	if _, cluster := client.(*redis.ClusterClient); cluster {
		// One node has a caller's keys and another the one of everybody: two calls, and what the first one took is given
		// back if the second refuses.
		l.limiter.Backends["global-transfers"] = l.backend("redis", store, 0)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		p.log.WarnContext(ctx, "Redis does not answer: request limits admit everybody until it does", "error", err)
	}
	return l, nil
}

// backend is a store with a breaker that says when it opens and closes.
func (l *limits) backend(name string, store ratelimit.Store, budget time.Duration) *ratelimit.Backend {
	return &ratelimit.Backend{Name: name, Store: store, Budget: budget, Breaker: breaker.New(name, breaker.Options{
		OnChange: func(name, from, to string) {
			l.log.Warn("limiter breaker changed", "store", name, "from", from, "to", to)
		},
	})}
}

// run keeps the stores small and the policies those of their file until ctx ends.
func (l *limits) run(ctx context.Context) error {
	signal.Notify(l.hangup, syscall.SIGHUP)
	defer signal.Stop(l.hangup)
	var work sync.WaitGroup
	work.Go(func() { l.live.Watch(ctx, l.log, l.hangup) })
	work.Go(func() { l.limiter.Local.Run(ctx) })
	if l.memory != nil {
		work.Go(func() { l.memory.Run(ctx) })
	}
	work.Wait()
	return nil
}

func (l *limits) close() {
	if l.redis != nil {
		_ = l.redis.Close() // nothing of it is needed any more
	}
}
