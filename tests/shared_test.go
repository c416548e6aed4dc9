package tests

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
)

// pair starts two processes on one database and one Redis, both at once on an empty database, both behind a proxy that
// the test plays.
func pair(t *testing.T) [2]*server {
	t.Helper()
	settings := []string{"DATABASE_URL=" + dbtest.EmptyURL(t), "REDIS_URL=" + dbtest.RedisURL(t), "TRUSTED_PROXIES=127.0.0.1/32"}
	var both [2]*server
	for i := range both {
		both[i] = launch(t, settings...)
	}
	for _, s := range both {
		s.waitReady(t)
	}
	return both
}

// Nothing else runs beside it: the log-in limit fails closed if it cannot be checked within a second, and the hashes of
// twenty log-ins keep two cores busy for about as long.
func TestTwoProcessesShareEveryLimit(t *testing.T) {
	both := pair(t)

	t.Run("user", func(t *testing.T) {
		t.Parallel()
		one := somebody(t, both[0].URL)
		two := one
		two.URL = both[1].URL
		from, to := one.openAccount(t, "NGN"), two.openAccount(t, "NGN")
		time.Sleep(2 * time.Second)
		created, limited := 0, 0
		for i := range 6 {
			c := one
			if i%2 == 1 {
				c = two
			}
			switch got := c.transfer(t, fmt.Sprintf("shared-%d", i), from.ID, to.ID, 1); got.Status {
			case http.StatusCreated:
				created++
			case http.StatusTooManyRequests:
				limited++
			default:
				t.Fatalf("transfer %d: %s", i, got)
			}
		}
		if created != 2 || limited != 4 {
			t.Errorf("6 transfers over two processes: %d created, %d limited; want 2 and 4", created, limited)
		}
	})

	t.Run("log-in", func(t *testing.T) {
		t.Parallel()
		var unauthorized, limited, unavailable atomic.Int64
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				c := caller{URL: both[i%2].URL, Address: fmt.Sprintf("192.0.2.%d", i+1)}
				switch got := c.do(t, "POST", "/sessions", `{"email":"grace@example.com","password":"not-the-right-password"}`); got.Status {
				case http.StatusUnauthorized:
					unauthorized.Add(1)
				case http.StatusTooManyRequests:
					limited.Add(1)
				case http.StatusServiceUnavailable: // a busy machine did not count it within a second
					unavailable.Add(1)
				default:
					t.Errorf("wrong password: %s", got)
				}
			})
		}
		wg.Wait()
		if hashed, shut := unauthorized.Load(), unavailable.Load(); hashed > 5 || hashed < 5 && shut == 0 || hashed == 0 {
			t.Errorf("20 wrong passwords over two processes: %d reached the hash, %d limited, %d not counted in time; want 5 and 15",
				hashed, limited.Load(), shut)
		}
	})

	t.Run("revocation", func(t *testing.T) {
		t.Parallel()
		one := somebody(t, both[0].URL)
		two := one
		two.URL = both[1].URL
		if got := two.do(t, "GET", "/me", ""); got.Status != http.StatusOK {
			t.Fatalf("before the log-out: %s", got)
		}
		if got := one.do(t, "DELETE", "/sessions/current", ""); got.Status != http.StatusNoContent {
			t.Fatalf("log out: %s", got)
		}
		time.Sleep(time.Second)
		if got := two.do(t, "GET", "/me", ""); got.Status != http.StatusUnauthorized {
			t.Errorf("a second after the log-out the other process says %s, want 401", got)
		}
	})
}
