package pgstore_test

import (
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit"
)

// Three policies in one call against one.
func BenchmarkTake(b *testing.B) {
	for _, bench := range []struct {
		name   string
		claims []ratelimit.Claim
	}{
		{"1bucket", manyClaims(1, ratelimit.TokenBucket)},
		{"3buckets", manyClaims(3, ratelimit.TokenBucket)},
		{"1log", manyClaims(1, ratelimit.SlidingLog)},
		{"3logs", manyClaims(3, ratelimit.SlidingLog)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := store(dbtest.Pool(b), nil)
			for b.Loop() {
				take(b, s, bench.claims...)
			}
		})
	}
}

func manyClaims(n int, a ratelimit.Algorithm) []ratelimit.Claim {
	claims := make([]ratelimit.Claim, n)
	for i := range claims {
		claims[i] = claim(policy("p", a, 20, 20*time.Millisecond), 1)
		claims[i].Key.Part = string(rune('a' + i))
	}
	return claims
}
