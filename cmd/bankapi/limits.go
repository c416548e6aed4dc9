package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/pgstore"
	"example.com/bankapi/internal/ratelimit/redisstore"
)

// limits is the limiter and the stores behind it.
type limits struct {
	policies ratelimit.Policies
	limiter  *ratelimit.Limiter
	memory   *ratelimit.Memory     // nil where Redis counts
	redis    redis.UniversalClient // nil where memory counts
	guards   *pgstore.Store        // of log-in and sign-up
}

// guardBudget is longer than a request limit's 50 ms: these policies fail closed, so a store that is only slow, while
// passwords are hashed on every processor, must not lock people out.
const guardBudget = time.Second

// newLimits counts requests in Redis if there is one, else in memory. Log-in and sign-up are counted in PostgreSQL in
// any case: guesses are few, must not be forgotten, and are the same guesses on every instance.
func newLimits(ctx context.Context, p *program, pool *pgxpool.Pool, observer ratelimit.Observer) (*limits, error) {
	l := &limits{policies: ratelimit.DefaultPolicies(), guards: pgstore.New(pool)}
	guards := &ratelimit.Backend{Name: "postgres", Store: l.guards, Budget: guardBudget}
	l.limiter = &ratelimit.Limiter{
		Backends: map[string]*ratelimit.Backend{
			l.policies.LoginAccount.Name:       guards,
			l.policies.LoginIP.Name:            guards,
			l.policies.SignUpIP.Name:           guards,
			l.policies.PasswordResetEmail.Name: guards,
		},
		Observer: observer,
	}
	if p.redisURL == "" {
		l.memory = ratelimit.NewMemory(ratelimit.MemoryOptions{})
		l.limiter.Default = &ratelimit.Backend{Name: "memory", Store: l.memory}
		return l, nil
	}
	client, err := redisstore.Open(p.redisURL)
	if err != nil {
		return nil, err
	}
	l.redis = client
	l.limiter.Default = &ratelimit.Backend{Name: "redis", Store: redisstore.New(client, redisstore.Options{})}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		p.log.WarnContext(ctx, "Redis does not answer: request limits admit everybody until it does", "error", err)
	}
	return l, nil
}

// run keeps the stores small until ctx ends.
func (l *limits) run(ctx context.Context) error {
	if l.memory != nil {
		l.memory.Run(ctx)
	}
	return nil
}

func (l *limits) close() {
	if l.redis != nil {
		_ = l.redis.Close() // nothing of it is needed any more
	}
}
