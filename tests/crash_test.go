package tests

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
)

// promise is one transfer a client wanted, and whether it saw the 201.
type promise struct {
	Key  string
	Seen bool
	Body string
}

// TestKilledServerLosesNothing kills the API in mid-load, several times, and asks again with the same keys: each
// transfer happened exactly once, and each 201 that a client saw is replayed byte for byte.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	settings := []string{"DATABASE_URL=" + url, "TRUSTED_PROXIES=127.0.0.1/32"}
	s := start(t, settings...)
	const users, rounds = 12, 3
	senders := make([]caller, users)
	from, to := make([]account, users), make([]account, users)
	for i := range senders {
		senders[i] = somebody(t, s.URL)
		from[i], to[i] = senders[i].openAccount(t, "NGN"), senders[i].openAccount(t, "NGN")
	}

	promises := make([][]promise, users)
	for round := range rounds {
		time.Sleep(3 * time.Second) // buckets of two transfers fill again
		var wg sync.WaitGroup
		for i, c := range senders {
			c.URL = s.URL
			wg.Go(func() {
				for n := range 2 {
					p := promise{Key: fmt.Sprintf("crash-%d-%d-%d", i, round, n)}
					got, err := c.try(t, "POST", "/transfers", order(from[i].ID, to[i].ID, 10), "Idempotency-Key", p.Key)
					p.Seen = err == nil && got.Status == http.StatusCreated
					p.Body = string(got.Body)
					promises[i] = append(promises[i], p)
				}
			})
		}
		time.Sleep(time.Duration(2+5*round) * time.Millisecond)
		s.kill(t)
		wg.Wait()
		s = start(t, settings...)
	}

	for i, c := range senders {
		c.URL = s.URL
		for _, p := range promises[i] {
			resend(t, c, p, from[i].ID, to[i].ID)
		}
		spent := from[i].Balance - balanceOf(c.accounts(t, "NGN"), from[i].ID)
		if want := int64(10 * len(promises[i])); spent != want {
			t.Errorf("sender %d: %d spent on %d transfers of 10, want %d", i, spent, len(promises[i]), want)
		}
	}
	verify(t, url)
}

// resend asks again with the same key, waiting as told: the transfer is there, once.
func resend(t *testing.T, c caller, p promise, from, to string) {
	t.Helper()
	got := c.patient(t, "POST", "/transfers", order(from, to, 10), "Idempotency-Key", p.Key)
	if got.Status != http.StatusCreated {
		t.Fatalf("%s: %s", p.Key, got)
	}
	if p.Seen && (string(got.Body) != p.Body || got.Header.Get("Idempotent-Replayed") != "true") {
		t.Errorf("%s: a 201 was seen as %s, now it is %s (replayed %q)", p.Key, p.Body, got, got.Header.Get("Idempotent-Replayed"))
	}
}

// verify runs `bankapi verify` on the database, which must find the ledger whole.
func verify(t *testing.T, url string) {
	t.Helper()
	cmd := exec.Command(binary, "verify")
	cmd.Env = []string{"DATABASE_URL=" + url}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
}

func TestInFlightRequestsAreAnsweredAtShutdown(t *testing.T) {
	t.Parallel()
	s := start(t, "DATABASE_URL="+dbtest.URL(t), "TRUSTED_PROXIES=127.0.0.1/32")
	const logins = 5 // as many as login-account reserves at once; a log-in takes its time, the hash is slow on purpose
	var wg sync.WaitGroup
	answers := make([]answer, logins)
	for i := range logins {
		wg.Go(func() {
			c := caller{URL: s.URL, Address: fmt.Sprintf("192.0.2.%d", i+1)}
			answers[i], _ = c.try(t, "POST", "/sessions", fmt.Sprintf(`{"email":"grace@example.com","password":%q}`, password))
		})
	}
	time.Sleep(60 * time.Millisecond)
	code := s.stop(t)
	wg.Wait()
	if code != 0 {
		t.Errorf("exit code %d\n%s", code, s.log)
	}
	created := 0
	for i, got := range answers {
		switch {
		case got.Status == http.StatusCreated:
			created++
		case got.Status != 0 && got.Status < 500: // 0: refused at the door, after the listener closed
			t.Errorf("log-in %d at shutdown: %s", i, got)
		}
	}
	if created == 0 {
		t.Error("no request in flight was answered")
	}
}

func TestSettingsFaultsComeAllAtOnce(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(binary, "serve", "--listen", "nonsense")
	cmd.Env = []string{"DATABASE_URL=mysql://x", "REDIS_URL=http://x", "TRUSTED_PROXIES=0.0.0.0/0,nonsense"}
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("nonsense settings were accepted: %s", out)
	}
	for _, name := range []string{"listen", "DATABASE_URL", "REDIS_URL", "TRUSTED_PROXIES"} {
		if !strings.Contains(strings.ToLower(string(out)), strings.ToLower(name)) {
			t.Errorf("the answer does not name %s:\n%s", name, out)
		}
	}
	if strings.Contains(string(out), "goroutine") {
		t.Errorf("a stack trace for a wrong setting:\n%s", out)
	}
}

func TestOutageOfTheDatabase(t *testing.T) {
	t.Parallel()
	pg := dbtest.PrivatePostgres(t)
	s := start(t, "DATABASE_URL="+pg.URL(), "TRUSTED_PROXIES=127.0.0.1/32")
	c := somebody(t, s.URL)
	from, to := c.openAccount(t, "NGN"), c.openAccount(t, "NGN")

	pg.Kill()
	during := c.transfer(t, "outage", from.ID, to.ID, 10)
	if during.Status != http.StatusServiceUnavailable || during.Header.Get("Retry-After") == "" {
		t.Errorf("transfer without a database: %s, Retry-After %q; want 503", during, during.Header.Get("Retry-After"))
	}
	if got := c.do(t, "GET", "/readyz", ""); got.Status != http.StatusServiceUnavailable {
		t.Errorf("readyz without a database: %s", got)
	}
	if got := c.do(t, "GET", "/healthz", ""); got.Status != http.StatusOK {
		t.Errorf("healthz without a database: %s", got)
	}
	login := c.do(t, "POST", "/sessions", `{"email":"grace@example.com","password":"not-the-right-password"}`)
	if login.Status != http.StatusServiceUnavailable {
		t.Errorf("log-in without its limiter's store: %s, want 503 (fail closed)", login)
	}

	pg.Start()
	s.waitReady(t)
	time.Sleep(3 * time.Second)
	after := c.transfer(t, "outage", from.ID, to.ID, 10)
	if after.Status != http.StatusCreated || after.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the same key when the database is back: %s, want its first execution", after)
	}
	verify(t, pg.URL())
}

// TestOutageOfRedisLeavesEachProcessItsShare: the limit goes on in the process's own memory, with its headers.
func TestOutageOfRedisLeavesEachProcessItsShare(t *testing.T) {
	t.Parallel()
	redis := dbtest.PrivateRedis(t)
	s := start(t, "DATABASE_URL="+dbtest.URL(t), "REDIS_URL="+redis.URL(), "TRUSTED_PROXIES=127.0.0.1/32")
	c := somebody(t, s.URL)
	redis.Kill()
	admitted, limited := 0, 0
	for range 25 {
		switch got := c.do(t, "GET", "/me", ""); got.Status {
		case http.StatusOK:
			admitted++
		case http.StatusTooManyRequests:
			limited++
		default:
			t.Fatalf("a read without Redis: %s, want 200 or 429", got)
		}
	}
	if admitted < 10 || limited == 0 {
		t.Errorf("25 reads at once without Redis: %d admitted and %d limited, want the ten of a full bucket and refusals after", admitted, limited)
	}
	if !strings.Contains(s.log.String(), `"level":"WARN"`) && !strings.Contains(s.log.String(), "WARN") {
		t.Errorf("no warning about the lost store:\n%s", s.log)
	}
	metrics := caller{URL: s.Admin}.raw(t, "/metrics")
	if !strings.Contains(metrics, "store_failures_total") {
		t.Error("no metric counts the store's failures")
	}
	redis.Start()
	time.Sleep(2 * time.Second)
	limited = 0
	for range 40 {
		if got := c.do(t, "GET", "/me", ""); got.Status == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited == 0 {
		t.Error("with Redis back, 40 reads at once met no limit")
	}
}

// raw reads a page that is not part of the public contract.
func (c caller) raw(t *testing.T, path string) string {
	t.Helper()
	request, err := c.request(t, "GET", path, "")
	if err != nil {
		t.Fatal(err)
	}
	response, err := httpClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
