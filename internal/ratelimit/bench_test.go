package ratelimit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// BenchmarkMemory measures one decision of one policy, spread over many keys, on one goroutine and on all cores.
func BenchmarkMemory(b *testing.B) {
	p := benchPolicy(b, ratelimit.TokenBucket)
	for _, keys := range []int{1, 10_000, 1_000_000} {
		claims := benchClaims(p, keys)
		m := ratelimit.NewMemory(ratelimit.MemoryOptions{MaxKeys: 2_000_000})
		for i := range claims {
			_ = m.Take(b.Context(), claims[i:i+1], make([]ratelimit.Status, 1))
		}
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			b.ReportAllocs()
			takeEach(b, m, claims, b.N)
		})
		b.Run(fmt.Sprintf("keys=%d/parallel", keys), func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				out, i := make([]ratelimit.Status, 1), 0
				for pb.Next() {
					i = (i + 7919) % len(claims)
					if m.Take(context.Background(), claims[i:i+1], out) != nil {
						b.Error("Take failed")
					}
				}
			})
		})
	}
}

// BenchmarkMemoryAlgorithms measures one decision at 10,000 keys by each algorithm.
func BenchmarkMemoryAlgorithms(b *testing.B) {
	for a := ratelimit.TokenBucket; a <= ratelimit.LeakyBucket; a++ {
		b.Run(a.String(), func(b *testing.B) {
			claims := benchClaims(benchPolicy(b, a), 10_000)
			m := ratelimit.NewMemory(ratelimit.MemoryOptions{})
			takeEach(b, m, claims, 10*len(claims))
			b.ReportAllocs()
			b.ResetTimer()
			takeEach(b, m, claims, b.N)
		})
	}
}

// BenchmarkMemoryThreePolicies measures one decision of three policies at once.
func BenchmarkMemoryThreePolicies(b *testing.B) {
	three := ratelimit.DefaultPolicies()
	m := ratelimit.NewMemory(ratelimit.MemoryOptions{})
	claims := make([]ratelimit.Claim, 0, 3)
	for _, p := range []*ratelimit.Policy{three.User, three.IP, three.Anonymous} {
		claims = append(claims, ratelimit.Claim{Policy: p, Key: ratelimit.Key{Owner: "usr_1"}, Cost: 1})
	}
	out := make([]ratelimit.Status, 3)
	b.ReportAllocs()
	for b.Loop() {
		_ = m.Take(b.Context(), claims, out)
	}
}

// BenchmarkClock is what a decision spends on reading the clock.
func BenchmarkClock(b *testing.B) {
	var sum int64
	for b.Loop() {
		sum += time.Now().UnixMicro()
	}
	_ = sum
}

// BenchmarkMiddleware measures a refused and an admitted request against the bare handler.
func BenchmarkMiddleware(b *testing.B) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	run := func(name string, h http.Handler) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			for b.Loop() {
				h.ServeHTTP(&discard{header: http.Header{}}, r)
			}
		})
	}
	run("bare", ok)
	for name, quota := range map[string]int64{"admitted": 1_000_000_000, "refused": 1} {
		p, err := ratelimit.NewPolicy(ratelimit.Policy{
			Name: "user", OnFailure: ratelimit.FailOpen,
			Limit: ratelimit.Limit{Algorithm: ratelimit.TokenBucket, Quota: quota, Period: time.Hour},
		})
		if err != nil {
			b.Fatal(err)
		}
		claims := func(*http.Request) []ratelimit.Claim {
			return []ratelimit.Claim{{Policy: p, Key: ratelimit.Key{Owner: "usr_1"}, Cost: 1}}
		}
		refuse := func(w http.ResponseWriter, _ *http.Request, _ ratelimit.Decision) {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		l := &ratelimit.Limiter{Default: &ratelimit.Backend{Name: "memory", Store: ratelimit.NewMemory(ratelimit.MemoryOptions{})}}
		run(name, ratelimit.Middleware(l, claims, refuse)(ok))
	}
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

func benchPolicy(b *testing.B, a ratelimit.Algorithm) *ratelimit.Policy {
	b.Helper()
	p, err := ratelimit.NewPolicy(ratelimit.Policy{
		Name: "user", OnFailure: ratelimit.FailOpen,
		Limit: ratelimit.Limit{Algorithm: a, Quota: 10, Period: 5 * time.Second},
	})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func benchClaims(p *ratelimit.Policy, keys int) []ratelimit.Claim {
	claims := make([]ratelimit.Claim, keys)
	for i := range claims {
		claims[i] = ratelimit.Claim{Policy: p, Key: ratelimit.Key{Owner: "usr_" + strconv.Itoa(i)}, Cost: 1}
	}
	return claims
}

func takeEach(b *testing.B, m *ratelimit.Memory, claims []ratelimit.Claim, n int) {
	b.Helper()
	out, i := make([]ratelimit.Status, 1), 0
	for range n {
		i = (i + 7919) % len(claims)
		if err := m.Take(b.Context(), claims[i:i+1], out); err != nil {
			b.Fatal(err)
		}
	}
}
