package client_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/bankapi/client"
	"example.com/bankapi/internal/ratelimit"
)

// limited is the server's own limiter, in memory and on the bubble's clock, behind a network that takes some time.
type limited struct {
	policies []*ratelimit.Policy
	limiter  *ratelimit.Limiter
	latency  func() time.Duration
	handler  http.Handler

	mu       sync.Mutex
	sent     int
	refused  int
	cost     int64
	last     time.Time
	arrivals []time.Time
}

func newLimited(latency func() time.Duration, policies ...*ratelimit.Policy) *limited {
	store := ratelimit.NewMemory(ratelimit.MemoryOptions{Now: time.Now})
	l := &limited{policies: policies, latency: latency}
	l.limiter = &ratelimit.Limiter{Default: &ratelimit.Backend{Name: "memory", Store: store, Budget: time.Hour}}
	l.handler = ratelimit.Middleware(l.limiter, l.claims, func(w http.ResponseWriter, _ *http.Request, _ ratelimit.Decision) {
		w.WriteHeader(http.StatusTooManyRequests)
	})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	return l
}

func (l *limited) claims(r *http.Request) []ratelimit.Claim {
	var claims []ratelimit.Claim
	for _, p := range l.policies {
		claims = append(claims, ratelimit.Claim{Policy: p, Key: ratelimit.Key{Owner: "k"}, Cost: client.Costs(p.Name, r)})
	}
	return claims
}

func (l *limited) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(l.latency())
	w := httptest.NewRecorder()
	l.handler.ServeHTTP(w, req)
	l.mu.Lock()
	l.sent++
	l.arrivals = append(l.arrivals, time.Now())
	if w.Code == http.StatusTooManyRequests {
		l.refused++
	} else {
		l.cost += client.Costs(l.policies[0].Name, req)
		l.last = time.Now()
	}
	l.mu.Unlock()
	time.Sleep(l.latency())
	return w.Result(), nil
}

func policy(t testing.TB, name string, limit ratelimit.Limit) *ratelimit.Policy {
	t.Helper()
	p, err := ratelimit.NewPolicy(ratelimit.Policy{Name: name, Limit: limit, OnFailure: ratelimit.FailOpen})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func call(ctx context.Context, transport http.RoundTripper, method, path string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://bank"+path, http.NoBody)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer x")
	req.Header.Set("Idempotency-Key", "k")
	res, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// Random buckets and fixed windows, several at once, random traffic of reads and transfers from several goroutines, and
// a network whose answers overtake each other: a paced client is never refused.
func TestPacedClientIsNeverRefused(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range 300 {
		limits := []ratelimit.Limit{randomLimit(random, true), randomLimit(random, random.IntN(2) == 0)}
		workers, calls := 1+random.IntN(8), 10+random.IntN(30)
		spent := random.IntN(5)
		seeds := [2]uint64{random.Uint64(), random.Uint64()}
		synctest.Test(t, func(t *testing.T) {
			net := rand.New(&locked{src: rand.NewPCG(seeds[0], seeds[1])})
			server := newLimited(func() time.Duration { return time.Duration(net.Int64N(int64(200 * time.Millisecond))) },
				policy(t, "user", limits[0]), policy(t, "ip", limits[1]))
			for range spent { // by an earlier run of the same program
				_, _ = call(t.Context(), server, http.MethodGet, "/me")
			}
			server.refused = 0
			paced := &client.Pacer{Base: server, Cost: client.Costs, MaxWait: 1000 * time.Hour}
			_, _ = call(t.Context(), paced, http.MethodGet, "/me") // the first one is on trust, so it must be a cheap one
			var wg sync.WaitGroup
			for range workers {
				wg.Go(func() {
					for range calls {
						method, path := http.MethodGet, [...]string{"/me", "/accounts/a/entries", "/transfers", "/limits"}[net.IntN(4)]
						if net.IntN(3) == 0 {
							method, path = http.MethodPost, "/transfers"
						}
						if _, err := call(t.Context(), paced, method, path); err != nil {
							t.Error(err)
						}
						if net.IntN(4) == 0 {
							time.Sleep(time.Duration(net.Int64N(int64(20 * time.Second))))
						}
					}
				})
			}
			wg.Wait()
			if server.refused > 0 {
				t.Errorf("round %d: %d of %d requests were refused; limits %+v, %d workers", round, server.refused, server.sent, limits, workers)
			}
		})
	}
}

func randomLimit(random *rand.Rand, bucket bool) ratelimit.Limit {
	if bucket {
		period := time.Duration(1+random.Int64N(30)) * time.Second / time.Duration(1+random.Int64N(10))
		return ratelimit.Limit{Algorithm: ratelimit.TokenBucket, Quota: 1 + random.Int64N(20),
			Period: period.Truncate(time.Microsecond), Burst: 5 + random.Int64N(30)}
	}
	return ratelimit.Limit{Algorithm: ratelimit.FixedWindow, Quota: 5 + random.Int64N(60), Period: time.Duration(1+random.Int64N(90)) * time.Second}
}

// locked makes one source of numbers for all goroutines.
type locked struct {
	mu  sync.Mutex
	src rand.Source
}

func (l *locked) Uint64() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.src.Uint64()
}

func instantly() time.Duration { return 0 }

// The bank's own user limit, 10 at 2/s: thirty transfers of 5 need 150 units, 10 of which are there at once.
func TestPacedClientIsHardlySlowerThanTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := ratelimit.DefaultPolicies()
		server := newLimited(instantly, limits.User, limits.IP)
		paced := &client.Pacer{Base: server, Cost: client.Costs, MaxWait: time.Hour}
		began := time.Now()
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() { _, _ = call(t.Context(), paced, http.MethodPost, "/transfers") })
		}
		wg.Wait()
		took, least := server.last.Sub(began), 70*time.Second
		if server.refused > 0 || took < least || took > least+least/50 {
			t.Errorf("30 transfers: %d refused, took %v, want none and %v or 2%% more", server.refused, took, least)
		}
	})
}

// A window that is used up gives nothing back before its end, however much a bucket would have by then.
func TestPacerWaitsForTheEndOfAWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the clock stands at midnight
		server := newLimited(instantly, policy(t, "daily", ratelimit.Limit{Algorithm: ratelimit.FixedWindow, Quota: 100, Period: 24 * time.Hour}))
		paced := &client.Pacer{Base: server, MaxWait: 48 * time.Hour}
		midnight := time.Now().Add(24 * time.Hour)
		time.Sleep(20 * time.Hour)
		for range 101 {
			if _, err := call(t.Context(), paced, http.MethodGet, "/me"); err != nil {
				t.Fatal(err)
			}
		}
		if late := server.last.Sub(midnight); server.refused > 0 || late < 0 || late > time.Second {
			t.Errorf("the 101st of 100 a day: %d refused, sent %v after midnight", server.refused, late)
		}
	})
}

func TestPacerDoesNotSendWhatWouldHaveToWaitTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := newLimited(instantly, ratelimit.DefaultPolicies().User)
		paced := &client.Pacer{Base: server, Cost: client.Costs}
		for range 2 {
			_, _ = call(t.Context(), paced, http.MethodPost, "/transfers")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		_, err := call(ctx, paced, http.MethodPost, "/transfers")
		var tooLong *client.WaitError
		if !errors.As(err, &tooLong) || tooLong.Policy != "user" || tooLong.Wait.Round(100*time.Millisecond) != 2500*time.Millisecond || time.Since(began) > 0 {
			t.Errorf("a transfer with 2 s left that must wait 2.5 s: %v after %v", err, time.Since(began))
		}
		if status, err := call(t.Context(), paced, http.MethodPost, "/transfers"); status != 200 || err != nil || server.refused > 0 {
			t.Errorf("and one that has the time: %d, %v, %d refused", status, err, server.refused)
		}
	})
}

func TestPacerLetsOneGoFirstWhereItKnowsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := newLimited(func() time.Duration { return time.Second }, ratelimit.DefaultPolicies().IP)
		paced := &client.Pacer{Base: server}
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { _, _ = call(t.Context(), paced, http.MethodGet, "/me") })
		}
		wg.Wait()
		first, rest := server.arrivals[0], server.arrivals[1:]
		for _, at := range rest {
			if got := at.Sub(first); got != 2*time.Second {
				t.Fatalf("the others arrive %v after the first, want at once when it is answered", got)
			}
		}
	})
}

func TestPacerIsNoObstacleWithoutLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		unlimited := transport(func(*http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			if sent.Add(1)%7 == 0 {
				return nil, errors.New("connection reset")
			}
			return httptest.NewRecorder().Result(), nil
		})
		paced := &client.Pacer{Base: unlimited}
		began := time.Now()
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { _, _ = call(t.Context(), paced, http.MethodGet, "/me") })
		}
		wg.Wait()
		if took := time.Since(began); sent.Load() != 100 || took != 2*time.Second {
			t.Errorf("%d sent in %v", sent.Load(), took)
		}
	})
}

// The real limiter refuses a thousand clients at one instant. Each keeps to the contract, each meets one 429 and no
// second one, and they do not come back together. (Each has its own budget; the address they share refills at 1,000/s.)
func TestAThousandRefusedClientsAreAllAdmittedWhenTheyComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := newLimited(instantly, policy(t, "ip", ratelimit.Limit{Algorithm: ratelimit.TokenBucket, Quota: 1000, Period: time.Second, Burst: 3000}))
		for range 3000 {
			_, _ = call(t.Context(), server, http.MethodGet, "/")
		}
		began := time.Now()
		server.arrivals, server.refused = nil, 0
		var admitted atomic.Int64
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				if status, _ := call(t.Context(), &client.Retrier{Base: server}, http.MethodGet, "/"); status == http.StatusOK {
					admitted.Add(1)
				}
			})
		}
		wg.Wait()
		slots := map[int64]int{}
		for _, at := range server.arrivals[1000:] {
			slots[int64(at.Sub(began)/(10*time.Millisecond))]++
		}
		most := 0
		for _, n := range slots {
			most = max(most, n)
		}
		if admitted.Load() != 1000 || server.refused != 1000 || most > 60 {
			t.Errorf("%d admitted after %d refusals, at most %d of them within 10 ms; want 1000, 1000, 60", admitted.Load(), server.refused, most)
		}
	})
}

// A client that waits as it is told is refused at most once for each request, whatever the bucket and whatever it costs.
func TestHonestClientMeetsNoSecondRefusal(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		limit := randomLimit(random, random.IntN(2) == 0)
		synctest.Test(t, func(t *testing.T) {
			server := newLimited(instantly, policy(t, "user", limit))
			for n := range 20 {
				before := server.refused
				honest := &client.Retrier{Base: server, MaxWait: 1000 * time.Hour}
				status, err := call(t.Context(), honest, http.MethodPost, "/transfers")
				if err != nil || status != http.StatusOK || server.refused > before+1 {
					t.Fatalf("transfer %d under %+v: %d, %v after %d refusals", n, limit, status, err, server.refused-before)
				}
			}
		})
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func ExamplePacer() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit-Policy", `"daily";q=1000;w=86400`)
		w.Header().Set("RateLimit", `"daily";r=0;t=30561`) // this request was the last for today
	}))
	defer server.Close()
	paced := &http.Client{Transport: &client.Pacer{}}

	for range 2 {
		res, err := paced.Get(server.URL)
		if tooLong := (*client.WaitError)(nil); errors.As(err, &tooLong) {
			fmt.Println(tooLong.Policy, "has room again in", tooLong.Wait.Round(time.Minute))
			continue
		}
		fmt.Println(res.Status)
		res.Body.Close()
	}
	// Output:
	// 200 OK
	// daily has room again in 8h29m0s
}
