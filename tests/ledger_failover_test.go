package tests

import (
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/dbtest"
)

// TestFailoverOfTheDatabase has PostgreSQL be a standby for a while: what only reads goes on, what writes is a 503 that
// says when to come back, never a 500, and its key stays free.
func TestFailoverOfTheDatabase(t *testing.T) {
	t.Parallel()
	pg := dbtest.PrivatePostgres(t)
	s := start(t, "DATABASE_URL="+pg.URL(), "TRUSTED_PROXIES=127.0.0.1/32", "BANKAPI_DEMO=off", limitsFile(t, "user", generous))
	user := somebody(t, s.URL)
	from, to := user.openAccount(t, "NGN"), user.openAccount(t, "NGN")
	if got := user.transfer(t, "before", from.ID, to.ID, 10); got.Status != http.StatusCreated {
		t.Fatalf("before: %s", got)
	}

	readOnly(t, pg, "on")
	for _, request := range []struct{ path, body string }{
		{"/transfers", order(from.ID, to.ID, 20)},
		{"/accounts", `{"currency":"NGN"}`},
		{"/api-keys", `{"name":"cron"}`},
		{"/users", `{"email":"late@example.com","password":"` + password + `"}`},
		{"/sessions", `{"email":"late@example.com","password":"` + password + `"}`},
	} {
		got := user.do(t, "POST", request.path, request.body, "Idempotency-Key", "during")
		if got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" {
			t.Errorf("POST %s on a standby: %s, Retry-After %q; want 503", request.path, got, got.Header.Get("Retry-After"))
		}
	}
	if spent := from.Balance - balanceOf(user.accounts(t, "NGN"), from.ID); spent != 10 {
		t.Errorf("read from a standby: %d spent, want 10", spent)
	}
	again := user.transfer(t, "before", from.ID, to.ID, 10)
	if again.Status != http.StatusServiceUnavailable {
		t.Errorf("a replay on a standby: %s, want 503", again)
	}

	readOnly(t, pg, "off")
	after := user.transfer(t, "during", from.ID, to.ID, 20)
	if after.Status != http.StatusCreated {
		t.Errorf("the same key on the primary: %s", after)
	}
	wantHeader(t, after, "Idempotent-Replayed", "")
	if spent := from.Balance - balanceOf(user.accounts(t, "NGN"), from.ID); spent != 30 {
		t.Errorf("%d spent, want 30", spent)
	}
	verify(t, pg.URL())
}

// readOnly turns the server into something like a standby, and back, for all sessions. The writer's connection ends, as
// it would.
func readOnly(t *testing.T, pg *dbtest.Server, on string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pg.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, sql := range []string{
		"ALTER SYSTEM SET default_transaction_read_only = " + on,
		"SELECT pg_reload_conf()",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'bankapi-ledger'",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for now := ""; now != on; time.Sleep(10 * time.Millisecond) {
		if err := conn.QueryRow(t.Context(), "SHOW default_transaction_read_only").Scan(&now); err != nil {
			t.Fatal(err)
		}
	}
}
