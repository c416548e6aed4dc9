package tests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
)

// Log-in is counted in PostgreSQL and not in Redis: docs/adr/0011 says why. So there are two outages, with two answers.

// logInAt sends one log-in with a password that may be wrong.
func logInAt(t *testing.T, s *server, address, email, secret string) answer {
	t.Helper()
	c := caller{URL: s.URL, Address: address, When: unknown}
	return c.do(t, "POST", "/sessions", fmt.Sprintf(`{"email":%q,"password":%q}`, email, secret))
}

const wrong = "not-the-right-password"

func signUp(t *testing.T, s *server, address, email string) {
	t.Helper()
	c := caller{URL: s.URL, Address: address}
	if got := c.do(t, "POST", "/users", fmt.Sprintf(`{"email":%q,"password":%q}`, email, password)); got.Status != http.StatusCreated {
		t.Fatalf("sign up: %s", got)
	}
}

// TestLogInCountsWithoutRedis: with Redis stopped, two processes still share five failures of one account exactly, and
// who knows their password gets in.
func TestLogInCountsWithoutRedis(t *testing.T) {
	t.Parallel()
	redis := dbtest.PrivateRedis(t)
	both := fleet(t, 2, "DATABASE_URL="+dbtest.URL(t), "REDIS_URL="+redis.URL())
	signUp(t, both[0], "192.0.2.1", "ada@example.com")
	signUp(t, both[0], "192.0.2.2", "grace@example.com")
	redis.Kill()

	var got []int
	for i := range 8 { // each from an address of its own, so that it is the account's limit
		a := logInAt(t, both[i%2], fmt.Sprintf("198.51.100.%d", i+1), "ada@example.com", wrong)
		if got = append(got, a.Status); a.Status == http.StatusTooManyRequests && a.Header.Get("Retry-After") == "" {
			t.Errorf("refused without Retry-After: %s", a)
		}
	}
	if want := []int{401, 401, 401, 401, 401, 429, 429, 429}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("wrong passwords without Redis: %v, want %v", got, want)
	}
	if a := logInAt(t, both[1], "203.0.113.1", "grace@example.com", password); a.Status != http.StatusCreated {
		t.Errorf("the right password without Redis: %s, want 201", a)
	}
}

// TestLogInIsShutWithoutItsStore: with PostgreSQL away and Redis there, a log-in is 503 whatever the password is, and not
// 429. What failed before the outage counts after it.
func TestLogInIsShutWithoutItsStore(t *testing.T) {
	t.Parallel()
	pg := dbtest.PrivatePostgres(t)
	s := fleet(t, 1, "DATABASE_URL="+pg.URL(), "REDIS_URL="+dbtest.RedisURL(t))[0]
	signUp(t, s, "192.0.2.1", "ada@example.com")
	for i := range 4 {
		if a := logInAt(t, s, "198.51.100.1", "ada@example.com", wrong); a.Status != http.StatusUnauthorized {
			t.Fatalf("wrong password %d: %s", i, a)
		}
	}
	// Counts are committed asynchronously: a crash may forget the last of them. This commit takes them to the disk.
	signUp(t, s, "192.0.2.2", "grace@example.com")
	pg.Kill()
	for _, secret := range []string{wrong, password} {
		a := logInAt(t, s, "198.51.100.1", "ada@example.com", secret)
		if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !strings.Contains(a.text("type"), "temporary-reduced-capacity") {
			t.Errorf("log-in without PostgreSQL: %s, want 503 with Retry-After", a)
		}
	}
	if !strings.Contains(caller{URL: s.Admin}.raw(t, "/metrics"), `outcome="failed_closed",policy="login-account"`) {
		t.Error("no metric counts what failed closed")
	}
	pg.Start()
	s.waitReady(t)
	unauthorized := 0
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) { // until the breaker asks again
		a := logInAt(t, s, "198.51.100.1", "ada@example.com", wrong)
		if a.Status == http.StatusTooManyRequests {
			break
		}
		if a.Status == http.StatusUnauthorized {
			unauthorized++
		}
		if unauthorized > 1 || time.Since(begun) > 30*time.Second {
			t.Fatalf("%d more wrong passwords answered after four and an outage, the last one %s; want the fifth at most, then 429", unauthorized, a)
		}
	}
}
