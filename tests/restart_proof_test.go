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

// TestLoadWhilePostgresRestarts kills PostgreSQL under load and starts it again, twice (CASES transfers 14). Each 201 that
// a client saw is in the ledger once and replays byte for byte; each request without one resolves when its key is sent
// again. What clients see meanwhile is a 503 or a time-out and never a 500.
func TestLoadWhilePostgresRestarts(t *testing.T) {
	t.Parallel()
	pg := dbtest.PrivatePostgres(t)
	s := start(t, "DATABASE_URL="+pg.URL(), "TRUSTED_PROXIES=127.0.0.1/32", "BANKAPI_DEMO=off",
		limitsFile(t, "user", generous, "ip", generous, "transfers-account", "quota: 10000, period: 1m"))
	const users = 6
	senders := make([]caller, users)
	from, to := make([]account, users), make([]account, users)
	for i := range senders {
		senders[i] = somebody(t, s.URL)
		from[i], to[i] = senders[i].openAccount(t, "NGN"), senders[i].openAccount(t, "NGN")
	}
	promises := make([][]promise, users)
	var over atomic.Bool
	var unseen atomic.Int64
	var wg sync.WaitGroup
	for i, c := range senders {
		wg.Go(func() {
			for n := 0; !over.Load(); n++ {
				p := c.promise(t, fmt.Sprintf("restart-%d-%d", i, n), from[i].ID, to[i].ID)
				if promises[i] = append(promises[i], p); !p.Seen {
					unseen.Add(1)
				}
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	pg.Kill() // so short an outage may be sat out
	pg.Start()
	time.Sleep(300 * time.Millisecond)
	pg.Kill()
	for begun := time.Now(); unseen.Load() == 0 && time.Since(begun) < 15*time.Second; {
		time.Sleep(20 * time.Millisecond)
	}
	pg.Start()
	s.waitReady(t)
	time.Sleep(300 * time.Millisecond)
	over.Store(true)
	wg.Wait()

	seen, lost := 0, int(unseen.Load())
	for i, c := range senders {
		for _, p := range promises[i] {
			if resend(t, c, p, from[i].ID, to[i].ID); p.Seen {
				seen++
			}
		}
		spent := from[i].Balance - balanceOf(c.accounts(t, "NGN"), from[i].ID)
		if want := int64(10 * len(promises[i])); spent != want {
			t.Errorf("sender %d: %d spent on %d transfers of 10, want %d", i, spent, len(promises[i]), want)
		}
	}
	t.Logf("%d transfers were seen, %d resolved afterwards", seen, lost)
	if seen == 0 || lost == 0 {
		t.Errorf("%d transfers were seen and %d lost: the restart was not in the middle", seen, lost)
	}
	verify(t, pg.URL())
}

// promise sends one transfer of 10 and notes whether its 201 was seen. A refusal for want of a database is waited out.
func (c caller) promise(t *testing.T, key, from, to string) promise {
	t.Helper()
	p := promise{Key: key}
	got, err := c.try(t, "POST", "/transfers", order(from, to, 10), "Idempotency-Key", key)
	switch {
	case err != nil:
	case got.Status == http.StatusCreated:
		p.Seen, p.Body = true, string(got.Body)
	case got.Status != http.StatusServiceUnavailable:
		t.Errorf("%s: %s, want 201 or 503", key, got)
	}
	if !p.Seen {
		time.Sleep(50 * time.Millisecond)
	}
	return p
}
