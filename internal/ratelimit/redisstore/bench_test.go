package redisstore_test

import (
	"testing"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// Three policies in one call against one: go test -bench . -cpu 32
func BenchmarkTake(b *testing.B) {
	for _, bench := range []struct {
		name   string
		claims []ratelimit.Claim
	}{
		{"1policy", manyClaims(1)},
		{"3policies", manyClaims(3)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			_, s := fresh(b)
			b.RunParallel(func(pb *testing.PB) {
				out := make([]ratelimit.Status, len(bench.claims))
				for pb.Next() {
					if err := s.Take(b.Context(), bench.claims, out); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

func manyClaims(n int) []ratelimit.Claim {
	claims := make([]ratelimit.Claim, n)
	for i := range claims {
		claims[i] = claim(policy(ratelimit.TokenBucket, 1_000_000, time.Second), 1)
		claims[i].Key.Part = string(rune('a' + i))
	}
	return claims
}
