package tests

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
)

// TestFleetLosesAnInstance kills one of three instances under reads through nginx: no read notices.
func TestFleetLosesAnInstance(t *testing.T) {
	t.Parallel()
	all := fleet(t, 3, "DATABASE_URL="+dbtest.URL(t), "REDIS_URL="+dbtest.RedisURL(t),
		limitsFile(t, "user", generous, "ip", generous))
	user := somebody(t, all[0].URL)
	user.When = unknown
	behind := user
	behind.URL = edge(t, []string{all[0].URL, all[1].URL, all[2].URL}, edgeRate, "rate=100000r/s;")
	reads := newStream(t, []*server{{URL: behind.URL}}, behind)

	time.Sleep(100 * time.Millisecond) // all three have connections of nginx open
	all[1].kill(t)
	for i := range 30 {
		if got := behind.do(t, "GET", "/me", ""); got.Status != http.StatusOK {
			t.Errorf("read %d after the kill: %s", i, got)
		}
	}
	reads.end(t)
	if n := reads.seen[http.StatusTooManyRequests]; n > 0 {
		t.Errorf("%d reads were limited, want none", n)
	}
}

// TestFleetSendsAPostToOneInstance has instances that take a request and hang up. A read is tried at the next one. A
// transfer is not: its caller is told, in the bank's own words, that nobody knows what became of it.
func TestFleetSendsAPostToOneInstance(t *testing.T) {
	t.Parallel()
	var took atomic.Int64
	dying := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		took.Add(1)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(dying.Close)
	bank, served := backend(t)

	t.Run("a read", func(t *testing.T) {
		at := edge(t, []string{dying.URL + " max_fails=0", bank.URL})
		client := from(t, "127.0.9.1")
		for range 4 {
			if status, _ := get(t, client, at+"/rates"); status != http.StatusOK {
				t.Errorf("a read while an instance hangs up: %d, want 200", status)
			}
		}
		if took.Load() == 0 || served.Load() != 4 {
			t.Errorf("the instance that hangs up was asked %d times, the other answered %d; want some and 4", took.Load(), served.Load())
		}
	})
	t.Run("a transfer", func(t *testing.T) {
		before := served.Load()
		at := edge(t, []string{dying.URL, bank.URL + " backup"})
		c := caller{URL: at, Token: "bank_sess_" + strings.Repeat("0", 36), When: unknown}
		got := c.transfer(t, "nobody-knows", "acct_06h2k2f14lubvc6p858nv6gskc", "acct_06h2k2f11hp4j8trktnlqjdlo0", 1)
		if got.Status != http.StatusServiceUnavailable || served.Load() != before {
			t.Errorf("a transfer on which an instance hung up: %s, and the next instance had it %d times; want 503 and never", got, served.Load()-before)
		}
		wantHeader(t, got, "Retry-After", "1")
		wantHeader(t, got, "Content-Type", "application/problem+json")
	})
}
