package tests

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/openapitest"
	"example.com/bankapi/internal/ratelimit/policyfile"
)

// limitsFile is the setting of a policy file that has other numbers than the built-in one for some policies, given as
// policy, numbers pairs.
func limitsFile(t *testing.T, numbers ...string) string {
	t.Helper()
	text := string(policyfile.DefaultFile())
	for i := 0; i+1 < len(numbers); i += 2 {
		line := regexp.MustCompile(`(?m)^(  ` + numbers[i] + `: \{ algorithm: [a-z-]+, )quota: \d+(?:, (?:period|calendar|zone|burst): [^,}]+)+(,| \})`)
		if n := len(line.FindAllString(text, -1)); n != 1 {
			t.Fatalf("policy %s stands %d times in the built-in file", numbers[i], n)
		}
		text = line.ReplaceAllString(text, "${1}"+numbers[i+1]+"${2}")
	}
	path := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "LIMITS_FILE=" + path
}

// generous are numbers that no test meets.
const generous = "quota: 100000, period: 1s, burst: 100000"

// fleet starts n processes with the same settings, behind a proxy that the test plays.
func fleet(t *testing.T, n int, settings ...string) []*server {
	t.Helper()
	settings = append(settings, "TRUSTED_PROXIES=127.0.0.1/32", "BANKAPI_DEMO=off")
	all := make([]*server, n)
	for i := range all {
		all[i] = launch(t, settings...)
	}
	for _, s := range all {
		s.waitReady(t)
	}
	return all
}

// at is the caller at another process, which has met the token. Asking for the limits costs nothing.
func (c caller) at(t *testing.T, s *server) caller {
	t.Helper()
	c.URL = s.URL
	for range 20 {
		if got := c.do(t, "GET", "/limits", ""); got.Status == http.StatusOK {
			return c
		}
	}
	t.Fatalf("%s does not say what is left", s.URL)
	return c
}

// TestThreeProcessesOnOneRedis has a bucket of 40 that does not refill, and 20 requests for callers without an identity.
// Sign-ups go through a process that counts in its memory.
func TestThreeProcessesOnOneRedis(t *testing.T) {
	t.Parallel()
	limits := limitsFile(t, "user", "quota: 1, period: 1h, burst: 40", "anonymous", "quota: 1, period: 1h, burst: 20", "ip", generous)
	database := "DATABASE_URL=" + dbtest.URL(t)
	door := fleet(t, 1, database, limitsFile(t, "ip", generous))[0]
	all := fleet(t, 3, database, limits, "REDIS_URL="+dbtest.RedisURL(t))

	t.Run("exactly what the bucket holds", func(t *testing.T) {
		undisturbed(t, all, func(int) func() { return exactly(t, all, somebody(t, door.URL), 40) })
	})
	t.Run("office and attacker", func(t *testing.T) {
		office(t, all, door)
		undisturbed(t, all, func(round int) func() { return attacker(t, all, fmt.Sprintf("198.51.100.%d", 66+round)) })
	})
}

// undisturbed plays rounds until one of them is not disturbed by an answer of Redis that came too late, as happens on a
// machine that is too busy: such a request is decided without Redis. The check that the round returns must then hold.
func undisturbed(t *testing.T, all []*server, play func(round int) (check func())) {
	t.Helper()
	for round := range 20 {
		before := storeFailures(all)
		check := play(round)
		if storeFailures(all) == before {
			check()
			return
		}
		time.Sleep(600 * time.Millisecond) // until the breaker tries again
	}
	t.Error("twenty times this machine was too slow for the time that a request waits for Redis")
}

// storeFailures is how often the processes had no answer of a store.
func storeFailures(all []*server) (n int) {
	for _, s := range all {
		n += strings.Count(s.log.String(), "limiter store failed")
	}
	return n
}

// exactly sends 50 requests of one user to each process, 8 at once, and wants as many admitted as the bucket holds.
func exactly(t *testing.T, all []*server, user caller, want int64) (check func()) {
	t.Helper()
	const each = 50
	user.When = unknown
	var admitted, refused atomic.Int64
	var wg sync.WaitGroup
	turns := make(chan struct{}, 8) // more at once only measures this machine
	for _, s := range all {
		here := user.at(t, s)
		for range each {
			turns <- struct{}{}
			wg.Go(func() {
				defer func() { <-turns }()
				switch got := here.do(t, "GET", "/me", ""); got.Status {
				case http.StatusOK:
					admitted.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				default:
					t.Errorf("GET /me: %s", got)
				}
			})
		}
	}
	wg.Wait()
	return func() {
		if admitted.Load() != want || refused.Load() != int64(each*len(all))-want {
			t.Errorf("%d admitted and %d refused, want exactly %d admitted", admitted.Load(), refused.Load(), want)
		}
	}
}

// unknown excuses answers without numbers: a machine that is too busy has none in time.
var unknown = []openapitest.Condition{openapitest.LimitsUnknown}

// office is the first half of G4 over HTTP, layered as we do it: 30 colleagues behind one address pass twice each.
func office(t *testing.T, all []*server, door *server) {
	t.Helper()
	for i := range 30 {
		c := somebody(t, door.URL)
		c.Address, c.When = "102.89.4.17", unknown
		for n := range 2 {
			c.URL = all[(i+n)%len(all)].URL
			if got := c.do(t, "GET", "/me", ""); got.Status != http.StatusOK {
				t.Errorf("colleague %d, request %d: %s", i, n, got)
			}
		}
	}
}

// attacker is the second half: 60 made-up keys of one address meet the limit of callers without a verified identity. A
// preflight of the refused is answered and not charged, and a 429 can be read by a page (CASES limiter 21).
func attacker(t *testing.T, all []*server, address string) (check func()) {
	t.Helper()
	c := caller{Address: address, When: unknown}
	unauthorized, limited := 0, 0
	var last, preflight answer
	for i := range 60 {
		c.URL, c.Token = all[i%len(all)].URL, fmt.Sprintf("bank_key_%036d", i)
		switch last = c.do(t, "GET", "/accounts", "", "Origin", "https://shop.example"); last.Status {
		case http.StatusUnauthorized:
			unauthorized++
		case http.StatusTooManyRequests:
			limited++
		default:
			t.Fatalf("a made-up key: %s", last)
		}
		preflight = c.do(t, "OPTIONS", "/transfers", "", "Origin", "https://shop.example",
			"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,idempotency-key")
	}
	return func() {
		if unauthorized != 20 || limited != 40 {
			t.Errorf("60 made-up keys: %d looked at, %d limited; want 20 and 40", unauthorized, limited)
		}
		if preflight.Status != http.StatusNoContent {
			t.Errorf("a preflight with an empty bucket: %s, want 204", preflight)
		}
		wantHeader(t, preflight, "RateLimit", "")
		wantHeader(t, preflight, "Access-Control-Allow-Origin", "*")
		wantHeader(t, last, "Access-Control-Allow-Origin", "*")
	}
}

// TestThreeProcessesWithMemory counts requests by process and log-ins together.
func TestThreeProcessesWithMemory(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	all := fleet(t, 3, "DATABASE_URL="+url, limitsFile(t, "user", "quota: 1, period: 1h, burst: 5", "ip", generous))

	// G6: 15 attempts, the instances in turn, limit 5.
	t.Run("fifteen attempts", func(t *testing.T) {
		user := somebody(t, all[0].URL)
		apart, together := 0, 0
		for i := range 15 {
			s := all[i%3]
			if got := user.at(t, s).do(t, "GET", "/me", ""); got.Status == http.StatusOK {
				apart++
			}
			guesser := caller{URL: s.URL, Address: fmt.Sprintf("192.0.2.%d", i+1)}
			if got := guesser.do(t, "POST", "/sessions", `{"email":"victim@example.com","password":"not-the-right-password"}`); got.Status == http.StatusUnauthorized {
				together++
			}
		}
		if apart != 15 || together != 5 {
			t.Errorf("memory per instance admits %d of 15, the shared counter %d; want 15 and 5", apart, together)
		}
	})
	t.Run("one key", func(t *testing.T) { oneKey(t, url, all) })
}

// oneKey sends 25 requests with one key at once (CASES transfers 2): one transfer, every 201 the same bytes, all but one
// marked as a replay, and 409 only with Retry-After. A wrong token before has not used the key up (CASES transfers 3).
func oneKey(t *testing.T, url string, all []*server) {
	t.Helper()
	big := enterprise(t, url, somebody(t, all[0].URL))
	from, to := big.openAccount(t, "NGN"), big.openAccount(t, "NGN")
	stranger := big
	stranger.Token = "bank_sess_" + strings.Repeat("0", 36)
	if got := stranger.transfer(t, "one-key", from.ID, to.ID, 10); got.Status != http.StatusUnauthorized {
		t.Fatalf("a wrong token: %s", got)
	}
	var here []caller
	for _, s := range all {
		here = append(here, big.at(t, s))
	}
	answers := make([]answer, 25) // as many as transfers-account admits, and their replays
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = here[i%len(here)].transfer(t, "one-key", from.ID, to.ID, 10) })
	}
	wg.Wait()
	first, body := 0, ""
	for _, got := range answers {
		switch got.Status {
		case http.StatusCreated:
			if body == "" {
				body = string(got.Body)
			}
			if string(got.Body) != body {
				t.Errorf("two answers to one key: %s and %s", body, got)
			}
			if got.Header.Get("Idempotent-Replayed") == "" {
				first++
			}
		case http.StatusConflict:
			wantHeader(t, got, "Retry-After", "1")
		default:
			t.Errorf("one of %d: %s", len(answers), got)
		}
	}
	if spent := from.Balance - balanceOf(big.accounts(t, "NGN"), from.ID); first != 1 || spent != 10 {
		t.Errorf("%d answers not marked as replays and %d spent, want 1 and 10", first, spent)
	}
}

// enterprise is the caller on the plan with the large numbers.
func enterprise(t *testing.T, url string, c caller) caller {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	email := c.do(t, "GET", "/me", "").text("email")
	if _, err := conn.Exec(ctx, "UPDATE users SET plan = 'enterprise' WHERE email = $1", email); err != nil {
		t.Fatal(err)
	}
	return c.logIn(t, email)
}
