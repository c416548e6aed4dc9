package redisstore

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit"
)

func TestKeysReadWell(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	for _, test := range []struct {
		policy, owner, part, want string
	}{
		{"user", "usr_abc", "", "bank:limit:b{7:usr_abc}4:user"},
		{"user", "10.0.0.0/8", "web", "bank:limit:b{10:10.0.0.0/8}4:user3:web"},
		{"user", "", "", "bank:limit:b{0:}4:user"},
		{"user", "a}b", "", "bank:limit:b{#U4xU_he1bi8rR1NzLg3oBKV8quJXCUBxKRYm6jjoJtc}4:user"},
		{"user", long, long, "bank:limit:b{#lTfF_fEgSC99WNJentWD9SwCtOME6oFNsWM61WWu1-k}4:user#lTfF_fEgSC99WNJentWD9SwCtOME6oFNsWM61WWu1-k"},
	} {
		p := &ratelimit.Policy{Name: test.policy, Limit: ratelimit.Limit{Algorithm: ratelimit.TokenBucket}}
		if got := key(DefaultPrefix, p, ratelimit.Key{Owner: test.owner, Part: test.part}); got != test.want {
			t.Errorf("%q %q: got %s, want %s", test.owner, test.part, got, test.want)
		}
	}
}

// FuzzKeysAreApart: two claims meet only if all of their parts are equal, and an owner's keys share one hash tag.
func FuzzKeysAreApart(f *testing.F) {
	f.Add("user", "a:b", "c", "user", "a", "b:c", "id")
	f.Add("user", "}", "", "user", "{}", "", "")
	f.Add("user", "a}4:user", "", "user", "a", "}4:user", "x!1:y")
	f.Fuzz(func(t *testing.T, policy1, owner1, part1, policy2, owner2, part2, id string) {
		p := &ratelimit.Policy{Name: policy1, Limit: ratelimit.Limit{Algorithm: ratelimit.TokenBucket}}
		q := &ratelimit.Policy{Name: policy2, Limit: ratelimit.Limit{Algorithm: ratelimit.TokenBucket}}
		a := key(DefaultPrefix, p, ratelimit.Key{Owner: owner1, Part: part1})
		b := key(DefaultPrefix, q, ratelimit.Key{Owner: owner2, Part: part2})
		same := policy1 == policy2 && owner1 == owner2 && part1 == part2
		if (a == b) != same {
			t.Errorf("keys %q and %q", a, b)
		}
		if reservationKey(a, id) == b {
			t.Errorf("the reservation %q of %q is a key", id, a)
		}
		if (tag(a) == tag(b)) != (owner1 == owner2) || tag(a) != tag(reservationKey(a, id)) {
			t.Errorf("hash tags %q and %q", tag(a), tag(b))
		}
	})
}

// tag is what a Cluster hashes of a key.
func tag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	inside, _, closed := strings.Cut(rest, "}")
	if !closed || inside == "" {
		return key
	}
	return inside
}

// The script's long multiplication is exact up to the largest quota and period.
func TestMuldivIsExact(t *testing.T) {
	t.Parallel()
	client := dbtest.Redis(t)
	_, after, _ := strings.Cut(counterSource, "local function muldiv")
	body, _, _ := strings.Cut(after, "\n  end\n")
	probe := redis.NewScript("local floor = math.floor local function muldiv" + body + `
end
local q, r = muldiv(tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]))
return {q, r}`)
	const most = 999_999_999_999_999
	period := (366 * 24 * time.Hour).Microseconds()
	for i := range 3000 {
		m := 1 + rand.Int64N(most>>rand.IntN(50))
		a, b := 1+rand.Int64N(most>>rand.IntN(50)), min(1+rand.Int64N(period>>rand.IntN(45)), m) // a window's share of a count
		if i%3 == 0 {                                                                            // no remainder
			m = max(m/b, 1) * b
			a = m / b
		}
		if i%3 == 1 { // when a counter has room: b may be above m, a is not
			a, b = min(a, m), period-int64(i)
		}
		want, rest := new(big.Int).QuoRem(new(big.Int).Mul(big.NewInt(a), big.NewInt(b)), big.NewInt(m), new(big.Int))
		got, err := probe.Run(t.Context(), client, nil, a, b, m).Int64Slice()
		if err != nil {
			t.Fatal(err)
		}
		if got[0] != want.Int64() || got[1] != rest.Int64() {
			t.Fatalf("%d * %d / %d: got %v, want %v rest %v", a, b, m, got, want, rest)
		}
	}
}
