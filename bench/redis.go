package bench

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/redisstore"
)

// Callers is how many goroutines ask Redis at once.
const Callers = 32

// RedisContenders ask one server through one client: redis_rate for one limit and, as its users have to, three times for
// three; ours for one and for three at once.
func RedisContenders(client redis.UniversalClient) []Contender {
	return []Contender{
		{"redis_rate, 1 limit", rated(client, 1)},
		{"bankapi, 1 policy", counted(client, 1)},
		{"bankapi, 3 policies", counted(client, 3)},
		{"redis_rate, 3 limits", rated(client, 3)},
	}
}

func rated(client redis.UniversalClient, limits int) func(n int) {
	l := redis_rate.NewLimiter(client)
	limit := redis_rate.Limit{Rate: 1_000_000, Burst: 1_000_000, Period: time.Minute}
	keys := Keys(Callers)
	return func(n int) {
		InParallel(n, Callers, func(g int) {
			for i := range limits {
				must(l.Allow(context.Background(), "policy-"+strconv.Itoa(i)+":"+keys[g], limit))
			}
		})
	}
}

func counted(client redis.UniversalClient, policies int) func(n int) {
	store := redisstore.New(client, redisstore.Options{})
	all := make([]*ratelimit.Policy, policies)
	for i := range all {
		all[i] = must(ratelimit.NewPolicy(ratelimit.Policy{
			Name: "policy-" + strconv.Itoa(i), OnFailure: ratelimit.FailOpen,
			Limit: ratelimit.Limit{Algorithm: ratelimit.TokenBucket, Quota: 1_000_000, Period: time.Minute},
		}))
	}
	keys := Keys(Callers)
	return func(n int) {
		InParallel(n, Callers, func(g int) {
			claims, out := make([]ratelimit.Claim, policies), make([]ratelimit.Status, policies)
			for i := range claims {
				claims[i] = claim(all[i], keys[g])
			}
			if err := store.Take(context.Background(), claims, out); err != nil {
				panic(err)
			}
		})
	}
}

// ScriptTime is the time that the server spent in each script call of work.
func ScriptTime(client redis.UniversalClient, work func(n int), n int) time.Duration {
	ctx := context.Background()
	if err := client.ConfigResetStat(ctx).Err(); err != nil {
		panic(err)
	}
	work(n)
	_, stats, _ := strings.Cut(client.Info(ctx, "commandstats").Val(), "cmdstat_evalsha:")
	_, stats, _ = strings.Cut(stats, "usec_per_call=")
	stats, _, _ = strings.Cut(stats, ",")
	return time.Duration(must(strconv.ParseFloat(stats, 64)) * float64(time.Microsecond))
}
