package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit/policyfile"
)

// limitsFile writes the built-in policy file with one text replaced.
func limitsFile(t *testing.T, old, with string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "limits.yaml")
	text := strings.Replace(string(policyfile.DefaultFile()), old, with, 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLimitsShowAndCheck(t *testing.T) {
	t.Parallel()
	code, shown, errs := bankapi(t, nil, "limits", "show")
	if code != exitOK || shown != string(policyfile.DefaultFile()) {
		t.Errorf("show: %d %s%s", code, shown, errs)
	}
	if code, out, errs := bankapi(t, nil, "limits", "check"); code != exitOK || !strings.Contains(out, "ok:") {
		t.Errorf("check: %d %s%s", code, out, errs)
	}
	bad := limitsFile(t, "burst: 300", "burst: 0")
	for _, c := range []struct{ settings, args []string }{
		{nil, []string{"limits", "check", bad}},
		{[]string{"LIMITS_FILE=" + bad}, []string{"limits", "check"}},
		{nil, []string{"serve", "--limits-file", bad}},
	} {
		code, _, errs := bankapi(t, c.settings, c.args...)
		if code != exitFailed || !strings.Contains(errs, "policies.ip.burst: must be a whole number of at least 1, is 0") {
			t.Errorf("%v: %d %s", c.args, code, errs)
		}
	}
	typo := limitsFile(t, "POST /transfers:", "POST /transferz:")
	if code, _, errs := bankapi(t, nil, "limits", "check", typo); code != exitFailed || !strings.Contains(errs, "routes.POST /transferz: is no route") {
		t.Errorf("an unknown route: %d %s", code, errs)
	}
}

func TestLimitsAskARunningBank(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	admin := "BANKAPI_ADMIN_LISTEN=" + free.Addr().String()
	_ = free.Close()
	api, _ := serve(t, "DATABASE_URL="+dbtest.EmptyURL(t), admin)
	for range 3 {
		response, err := http.Get(api + "/me")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	ask := func(want int, args ...string) string {
		t.Helper()
		code, out, errs := bankapi(t, []string{admin}, append([]string{"limits"}, args...)...)
		if code != want {
			t.Errorf("%v: exit code %d, want %d: %s%s", args, code, want, out, errs)
		}
		return out + errs
	}
	out := ask(exitOK, "explain", "GET", "/me", "--address", "127.0.0.1")
	if !strings.HasPrefix(out, "GET /me: admitted\n") || !strings.Contains(out, "anonymous  admits") {
		t.Errorf("explain: %s", out)
	}
	if out := ask(exitOK, "explain", "GET", "/me", "--json"); !strings.HasPrefix(out, `{"route":"GET /me",`) {
		t.Errorf("explain --json: %s", out)
	}
	if out := ask(exitFailed, "explain", "GET", "/me", "--user", "ada"); !strings.Contains(out, "#/user: Must be an id") {
		t.Errorf("explain nonsense: %s", out)
	}
	for range 2 {
		_ = ask(exitOK, "reset", "anonymous", "127.0.0.1")
	}
	if out := ask(exitOK, "inspect", "anonymous", "127.0.0.1"); !strings.Contains(out, `"remaining":20,`) {
		t.Errorf("inspect after a reset: %s", out)
	}
	if out := ask(exitOK, "top"); !strings.HasPrefix(out, "policy  key  refused of late") {
		t.Errorf("top: %s", out)
	}
	if out := ask(exitFailed, "inspect", "nobody", "127.0.0.1"); !strings.Contains(out, "Not Found") {
		t.Errorf("inspect nobody: %s", out)
	}
}

// TestServeReadsItsPolicyFileAgain changes the file under a bank that runs.
func TestServeReadsItsPolicyFileAgain(t *testing.T) {
	t.Parallel()
	path := limitsFile(t, "burst: 300", "burst: 301")
	api, _ := serve(t, "DATABASE_URL="+dbtest.EmptyURL(t), "LIMITS_FILE="+path)
	advertised := func() string {
		response, err := http.Get(api + "/rates")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.Header.Get("RateLimit-Policy")
	}
	if got := advertised(); !strings.Contains(got, `"ip";q=301`) {
		t.Fatalf("got %s", got)
	}
	if err := os.Rename(limitsFile(t, "burst: 300", "burst: 302"), path); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		if strings.Contains(advertised(), `"ip";q=302`) {
			return
		}
		if n == 19 {
			t.Errorf("still %s after five seconds", advertised())
		}
		time.Sleep(250 * time.Millisecond)
	}
}
