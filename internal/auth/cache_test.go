package auth

import (
	"encoding/binary"
	"testing"
	"time"
)

func hashOf(n int) (hash tokenHash) {
	binary.BigEndian.PutUint64(hash[:], uint64(n))
	return hash
}

func TestCachesAreBounded(t *testing.T) {
	t.Parallel()
	c, now := newCache(100), newClock().now()
	for n := range 10_000 {
		c.accept(hashOf(n), Principal{}, now, endOfTime, c.mark())
		c.reject(hashOf(-n), now)
	}
	c.good.CleanUp()
	c.bad.CleanUp()
	if good, bad := c.good.EstimatedSize(), c.bad.EstimatedSize(); good > 100 || bad > 100 {
		t.Errorf("%d principals and %d bad tokens are kept, want at most 100 each", good, bad)
	}
}

// Strangers with made-up tokens must not make the callers we know pay look-ups.
func TestAFloodOfBadTokensKeepsGoodOnes(t *testing.T) {
	t.Parallel()
	c, now := newCache(100), newClock().now()
	l := new(listener)
	l.trustTill.Store(now.Add(time.Second).UnixNano())
	c.attach(l)
	since := c.mark()
	for n := range 1000 {
		c.reject(hashOf(1000+n), now)
	}
	c.accept(hashOf(1), Principal{Email: "ada@example.com"}, now, endOfTime, since)
	for n := range 10_000 {
		c.reject(hashOf(2000+n), now)
	}
	if p, verdict := c.get(hashOf(1), now); verdict != good || p.Email != "ada@example.com" {
		t.Errorf("get = %+v, %d; want the principal", p, verdict)
	}
}

func TestBadTokensAreRememberedForAWhile(t *testing.T) {
	t.Parallel()
	c, now := newCache(100), newClock().now()
	c.reject(hashOf(1), now)
	if _, verdict := c.get(hashOf(1), now.Add(badFor-1)); verdict != bad {
		t.Errorf("within 5 s: verdict %d, want bad", verdict)
	}
	if _, verdict := c.get(hashOf(1), now.Add(badFor)); verdict != unsure {
		t.Errorf("after 5 s: verdict %d, want a look-up", verdict)
	}
}

func benchmarkedService(b *testing.B) (*Service, string) {
	b.Helper()
	s, token := New(nil, Options{}), newToken(Session)
	_, hash, _ := parseToken(token)
	l := new(listener)
	l.trustTill.Store(s.now().Add(time.Hour).UnixNano())
	s.cache.attach(l)
	far := s.now().Add(time.Hour)
	s.cache.accept(hash, Principal{Kind: Session}, far, endOfTime, s.cache.mark())
	return s, token
}

func BenchmarkAuthenticateFromCache(b *testing.B) {
	s, token := benchmarkedService(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Authenticate(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAuthenticateFromCacheInParallel(b *testing.B) {
	s, token := benchmarkedService(b)
	ctx := b.Context()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Authenticate(ctx, token); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkKnown(b *testing.B) {
	s, token := benchmarkedService(b)
	b.ReportAllocs()
	for b.Loop() {
		if !s.Known(token) {
			b.Fatal("not known")
		}
	}
}

func BenchmarkRefuseMadeUpToken(b *testing.B) {
	s, token := benchmarkedService(b)
	token = token[:len(token)-1] + "!"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Authenticate(b.Context(), token); err == nil {
			b.Fatal("accepted")
		}
	}
}
