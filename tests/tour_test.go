package tests

import (
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
)

// TestTour is the README's tour on the embedded default: no setting, no Docker, no Redis.
func TestTourOnTheEmbeddedDefault(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, "BANKAPI_DATA_DIR="+dir)
	tour(t, caller{URL: s.URL})

	second := exec.Command(binary, "serve")
	second.Env = slices.Concat(s.cmd.Env, []string{"BANKAPI_DATA_DIR=" + dir})
	out, err := second.CombinedOutput()
	if err == nil || !strings.Contains(string(out), dir) {
		t.Errorf("second server on %s: got %v, %q; want a refusal that names the directory", dir, err, out)
	}
	if lines := strings.Count(strings.TrimSpace(string(out)), "\n"); lines > 3 {
		t.Errorf("the refusal takes %d lines: %s", lines+1, out)
	}
	if got := (caller{URL: s.URL}).do(t, "GET", "/readyz", ""); got.Status != http.StatusOK {
		t.Errorf("the first server after the second was refused: %s", got)
	}

	if code := s.stop(t); code != 0 {
		t.Fatalf("exit code after SIGTERM: %d\n%s", code, s.log)
	}
	again := start(t, "BANKAPI_DATA_DIR="+dir)
	ada := caller{URL: again.URL}.logIn(t, "ada@example.com")
	if got := len(ada.accounts(t, "NGN")); got != 2 {
		t.Errorf("after a restart ada has %d NGN accounts, want the same 2", got)
	}
}

// TestTourOnRedis is the same tour with the request limits in Redis, as docker compose runs it.
func TestTourOnRedis(t *testing.T) {
	t.Parallel()
	s := start(t, "DATABASE_URL="+dbtest.URL(t), "REDIS_URL="+dbtest.RedisURL(t))
	tour(t, caller{URL: s.URL})
}

// tour walks through the lesson: 201, 201, 429, wait as told, 201, replay, 401.
func tour(t *testing.T, c caller) {
	t.Helper()
	ada := c.logIn(t, "ada@example.com")
	accounts := ada.accounts(t, "NGN")
	if len(accounts) != 2 || accounts[0].Balance <= 0 {
		t.Fatalf("ada's NGN accounts: %v, want two with money", accounts)
	}
	from, to := accounts[0].ID, accounts[1].ID
	time.Sleep(time.Second) // the list cost a token

	first := ada.transfer(t, "tour-1", from, to, 100)
	second := ada.transfer(t, "tour-2", from, to, 100)
	for _, got := range []answer{first, second} {
		if got.Status != http.StatusCreated || got.Header.Get("Location") != "/transfers/"+got.text("id") {
			t.Fatalf("transfer: %s, Location %q", got, got.Header.Get("Location"))
		}
	}
	refused := ada.transfer(t, "tour-3", from, to, 100)
	if refused.Status != http.StatusTooManyRequests {
		t.Fatalf("third transfer: %s, want 429", refused)
	}
	wantHeader(t, refused, "Retry-After", "3")
	wantHeader(t, refused, "RateLimit", `"user";r=0;t=3`)

	time.Sleep(3 * time.Second)
	retried := ada.transfer(t, "tour-3", from, to, 100)
	if retried.Status != http.StatusCreated || retried.Header.Get("Idempotent-Replayed") != "" {
		t.Fatalf("the refused key after waiting as told: %s, want its first execution", retried)
	}
	time.Sleep(3 * time.Second)
	replayed := ada.transfer(t, "tour-3", from, to, 100)
	if replayed.Status != http.StatusCreated || string(replayed.Body) != string(retried.Body) {
		t.Fatalf("replay: %s, want the bytes of %s", replayed, retried)
	}
	wantHeader(t, replayed, "Idempotent-Replayed", "true")

	time.Sleep(time.Second)
	if got := ada.accounts(t, "NGN"); balanceOf(got, from) != accounts[0].Balance-300 {
		t.Errorf("balance after three transfers of 100: %d, before %d", balanceOf(got, from), accounts[0].Balance)
	}
	stranger := c.do(t, "GET", "/accounts", "")
	if stranger.Status != http.StatusUnauthorized {
		t.Errorf("without a token: %s, want 401", stranger)
	}
	wantHeader(t, stranger, "WWW-Authenticate", `Bearer realm="bankapi"`)
}

func wantHeader(t *testing.T, a answer, name, want string) {
	t.Helper()
	if got := a.Header.Get(name); got != want {
		t.Errorf("%s: got %q, want %q (%s)", name, got, want, a)
	}
}

func balanceOf(accounts []account, id string) int64 {
	for _, a := range accounts {
		if a.ID == id {
			return a.Balance
		}
	}
	return -1
}
