package bench

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/httprate"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	"example.com/bankapi/internal/ratelimit"
)

// Quota is what every limiter admits per Period: so much that none of them refuses, since a refusal is cheaper.
const (
	Quota  = 1_000_000_000
	Period = time.Hour
)

// Decide takes one unit for a key. It reports errors, not refusals.
type Decide func(key string) error

// Limiter is one way of deciding in memory.
type Limiter struct {
	Name string
	Note string
	New  func() Decide
}

// Limiters lists ours first, in three sizes: the decision alone, with the bookkeeping of the limiter around it, and with
// the headers, which is what httprate's OnLimit does too.
var Limiters = []Limiter{
	{"bankapi", "Memory.Take: the decision", newOurs},
	{"bankapi Limiter", "Limiter.Take: and its decision record", newOurLimiter},
	{"bankapi headers", "Limiter.Take and WriteHeaders", newOurHeaders},
	{"httprate", "OnLimit: sliding counter and headers", newHTTPRate},
	{"throttled", "GCRA over memstore", newThrottled},
	{"ulule", "fixed window over its memory store", newUlule},
	{"go-limiter", "token bucket over memorystore", newGoLimiter},
	{"x/time/rate", "behind a map and a mutex, as its users write it", newRate},
}

func policy(name string, quota int64) *ratelimit.Policy {
	return must(ratelimit.NewPolicy(ratelimit.Policy{
		Name: name, OnFailure: ratelimit.FailOpen,
		Limit: ratelimit.Limit{Algorithm: ratelimit.TokenBucket, Quota: quota, Period: Period},
	}))
}

func claim(p *ratelimit.Policy, key string) ratelimit.Claim {
	return ratelimit.Claim{Policy: p, Key: ratelimit.Key{Owner: key}, Cost: 1}
}

func newStore() *ratelimit.Memory {
	return ratelimit.NewMemory(ratelimit.MemoryOptions{MaxKeys: 2_000_000})
}

func newLimiter() *ratelimit.Limiter {
	return &ratelimit.Limiter{Default: &ratelimit.Backend{Name: "memory", Store: newStore()}}
}

func newOurs() Decide {
	store, p := newStore(), policy("user", Quota)
	return func(key string) error {
		var out [1]ratelimit.Status
		claims := [1]ratelimit.Claim{claim(p, key)}
		return store.Take(context.Background(), claims[:], out[:])
	}
}

func newOurLimiter() Decide {
	l, p := newLimiter(), policy("user", Quota)
	return func(key string) error {
		l.Take(context.Background(), claim(p, key))
		return nil
	}
}

func newOurHeaders() Decide {
	l, p := newLimiter(), policy("user", Quota)
	return func(key string) error {
		ratelimit.WriteHeaders(http.Header{}, l.Take(context.Background(), claim(p, key)))
		return nil
	}
}

// newHTTPRate writes into a fresh header for each decision, as a server does.
func newHTTPRate() Decide {
	l := httprate.NewRateLimiter(Quota, Period)
	r := must(http.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil))
	return func(key string) error {
		l.OnLimit(headerOnly{http.Header{}}, r, key)
		return nil
	}
}

// headerOnly is a ResponseWriter without a response.
type headerOnly struct{ header http.Header }

func (w headerOnly) Header() http.Header         { return w.header }
func (w headerOnly) Write(b []byte) (int, error) { return len(b), nil }
func (w headerOnly) WriteHeader(int)             {}

func newThrottled() Decide {
	store := must(memstore.NewCtx(0))
	l := must(throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerDuration(Quota, Period), MaxBurst: 1_000_000}))
	return func(key string) error {
		_, _, err := l.RateLimitCtx(context.Background(), key, 1)
		return err
	}
}

func newUlule() Decide {
	l := limiter.New(memory.NewStore(), limiter.Rate{Period: Period, Limit: Quota})
	return func(key string) error {
		_, err := l.Get(context.Background(), key)
		return err
	}
}

func newGoLimiter() Decide {
	store := must(memorystore.New(&memorystore.Config{Tokens: Quota, Interval: Period}))
	return func(key string) error {
		_, _, _, _, err := store.Take(context.Background(), key)
		return err
	}
}

// newRate never forgets a key, which the bare map of its documentation does not either.
func newRate() Decide {
	var mu sync.Mutex
	limiters := map[string]*rate.Limiter{}
	return func(key string) error {
		mu.Lock()
		l := limiters[key]
		if l == nil {
			l = rate.NewLimiter(Quota/rate.Limit(Period.Seconds()), 1_000_000)
			limiters[key] = l
		}
		mu.Unlock()
		l.Allow()
		return nil
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
