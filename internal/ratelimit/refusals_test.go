package ratelimit_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/ratelimit"
)

// refusing is a limiter whose policies admit nobody a second time.
func refusing(c *clock, keys int) *ratelimit.Limiter {
	return &ratelimit.Limiter{
		Default: memoryBackend(c.Now), Refusals: ratelimit.NewRefusals(keys), Now: c.Now,
	}
}

func TestRefusalsCountExactlyWhileThereIsRoom(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := refusing(c, 0)
	user := policy(t, "user", bucket(1, time.Hour, 1), ratelimit.FailOpen)
	ip := policy(t, "ip", bucket(1, time.Hour, 1), ratelimit.FailOpen)
	for range 6 {
		l.Take(t.Context(), claim(user, "ada@example.com", 1), claim(ip, "192.0.2.1", 1)) // refused by both, but the first
	}
	for range 4 {
		l.Take(t.Context(), claim(user, "bob@example.com", 1))
	}
	l.Take(t.Context(), claim(user, "eve@example.com", 1)) // never refused
	name := func(p, owner string) string { return l.Refusals.Name(p, ratelimit.Key{Owner: owner}) }
	want := map[ratelimit.RefusedKey]bool{
		{Policy: "user", Key: name("user", "ada@example.com"), Count: 5}: true,
		{Policy: "ip", Key: name("ip", "192.0.2.1"), Count: 5}:           true,
		{Policy: "user", Key: name("user", "bob@example.com"), Count: 3}: true,
	}
	got := map[ratelimit.RefusedKey]bool{}
	for _, k := range l.Refusals.Top(c.Now(), 10) {
		got[k] = true
		if strings.Contains(k.Key, "example.com") || k.Key == ratelimit.NewRefusals(0).Name(k.Policy, ratelimit.Key{Owner: "ada@example.com"}) {
			t.Errorf("key %s says whose it is", k.Key)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if top := l.Refusals.Top(c.Now(), 1); len(top) != 1 || top[0].Count != 5 {
		t.Errorf("the first is %+v, want one with 5", top)
	}
	c.Advance(21 * time.Minute)
	if top := l.Refusals.Top(c.Now(), 10); len(top) != 2 || top[0].Count != 1 || top[1].Count != 1 {
		t.Errorf("21 minutes later %+v, want a quarter", top)
	}
	c.Advance(1000 * time.Hour)
	if top := l.Refusals.Top(c.Now(), 10); len(top) != 0 {
		t.Errorf("ages later %+v, want nobody", top)
	}
}

// TestRefusalsFindTheGreatestInAFlood: ten attackers among 50,000 who are refused once, with room for 100.
func TestRefusalsFindTheGreatestInAFlood(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	c := newClock()
	l := refusing(c, 100)
	p := policy(t, "user", bucket(1, 1000*time.Hour, 1), ratelimit.FailOpen)
	real, all := map[string]uint64{}, uint64(0)
	refuse := func(owner string) {
		if !l.Take(t.Context(), claim(p, owner, 1)).Allowed {
			real[l.Refusals.Name("user", ratelimit.Key{Owner: owner})]++
			all++
		}
	}
	for i := range 50_000 {
		refuse(strconv.Itoa(i))
		refuse(strconv.Itoa(i))
		refuse("attacker-" + strconv.Itoa(random.IntN(10)))
	}
	top := l.Refusals.Top(c.Now(), 1000)
	if len(top) != 100 {
		t.Errorf("%d keys, want 100", len(top))
	}
	found := map[string]bool{}
	for i, k := range top {
		found[k.Key] = true
		if n := real[k.Key]; k.Count < n || k.Count-k.Over > n {
			t.Errorf("%+v was refused %d times, which is not what it says", k, n)
		}
		if i < 10 && real[k.Key] < all/100 {
			t.Errorf("%+v among the first ten was refused %d times", k, real[k.Key])
		}
	}
	for key, n := range real {
		if n > all/100 && !found[key] {
			t.Errorf("%s was refused %d of %d times and is not known", key, n, all)
		}
	}
}
