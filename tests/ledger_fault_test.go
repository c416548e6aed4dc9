package tests

import (
	"net/http"
	"strings"
	"testing"

	"example.com/bankapi/internal/dbtest"
)

// TestTheFaultSwitch has the bank kill itself, or drop an answer, at its second transfer, as somebody would who tries it
// by hand. The same key sent to the next bank moves the money, once.
func TestTheFaultSwitch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault    string
		dies     bool
		replayed string // of the key whose answer was lost
	}{
		{"after_locks:2", true, ""},
		{"before_commit:2", true, ""},
		{"after_commit_before_response:2,slow_commit=50ms", true, "true"},
		{"drop_response:2", false, "true"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			settings := []string{"DATABASE_URL=" + dbtest.URL(t), "TRUSTED_PROXIES=127.0.0.1/32", limitsFile(t, "user", generous)}
			s := start(t, append(settings, "BANKAPI_FAULT="+c.fault)...)
			user := somebody(t, s.URL)
			from, to := user.openAccount(t, "NGN"), user.openAccount(t, "NGN")
			first := user.transfer(t, "first", from.ID, to.ID, 10)
			if first.Status != http.StatusCreated {
				t.Fatalf("before the fault: %s", first)
			}
			if !strings.Contains(s.log.String(), "FAULTS ARE ON") {
				t.Errorf("no warning by now:\n%s", s.log)
			}
			httpClient.CloseIdleConnections() // on one that was used before, Go sends a request with a key again by itself
			if got, err := user.try(t, "POST", "/transfers", order(from.ID, to.ID, 10), "Idempotency-Key", "lost"); err == nil {
				t.Errorf("an answer came through: %s", got)
			}
			if c.dies {
				if code := s.wait(t); code != -1 {
					t.Errorf("the bank ended with %d, want a signal", code)
				}
				user.URL = start(t, settings...).URL
			}
			again := user.patient(t, "POST", "/transfers", order(from.ID, to.ID, 10), "Idempotency-Key", "lost")
			if again.Status != http.StatusCreated {
				t.Fatalf("the same key again: %s", again)
			}
			wantHeader(t, again, "Idempotent-Replayed", c.replayed)
			if spent := from.Balance - balanceOf(user.accounts(t, "NGN"), from.ID); spent != 20 {
				t.Errorf("%d spent, want 20", spent)
			}
		})
	}
}
