package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/httpapi"
	"example.com/bankapi/internal/openapitest"
	"example.com/bankapi/internal/ratelimit"
)

// downStore is a limiter's store that refuses connections.
type downStore struct{ ratelimit.Store }

var errRefused = errors.New("connection refused")

func (downStore) Take(context.Context, []ratelimit.Claim, []ratelimit.Status) error {
	return errRefused
}
func (downStore) Peek(context.Context, []ratelimit.Claim, []ratelimit.Status) error {
	return errRefused
}
func (downStore) Give(context.Context, []ratelimit.Claim) error { return errRefused }

// TestStoreDown is G7: the general limits fail open, those of log-in and sign-up closed, with a warning each.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	b.deps.Limiter.Default = &ratelimit.Backend{Name: "redis", Store: downStore{}}
	ask := func(method, path, body string) answer {
		r := ada.request(method, path, strings.NewReader(body))
		return ada.send(r, openapitest.LimitsUnknown)
	}
	for _, path := range []string{"/me", "/rates", "/accounts"} {
		got := ask("GET", path, "")
		if got.Status != http.StatusOK {
			t.Errorf("GET %s: %s, want 200", path, got)
		}
		wantHeader(t, got, "RateLimit", "")
	}
	for path, policies := range map[string]string{"/sessions": "login-account, login-ip", "/users": "signup-ip", "/password-resets": "password-reset-email"} {
		body := credentials(ada.email, password)
		if path == "/password-resets" {
			body = resetOf(ada.email)
		}
		got := ask("POST", path, body)
		p := wantProblem(t, got, http.StatusServiceUnavailable, "#temporary-reduced-capacity")
		if joined := strings.Join(p.Violated, ", "); joined != policies {
			t.Errorf("POST %s: violated %q, want %q", path, joined, policies)
		}
		wantHeader(t, got, "Retry-After", "1")
	}
	wantProblem(t, ask("GET", "/limits", ""), http.StatusServiceUnavailable, "#temporary-reduced-capacity")
	if !strings.Contains(b.log.String(), `"msg":"limiter store failed","store":"redis"`) {
		t.Error("no warning in the log")
	}
	if lines := b.log.String(); !strings.Contains(lines, `"refused_by":"signup-ip"`) || strings.Count(lines, `"ERROR"`) != 1 { // GET /limits could not be answered
		t.Errorf("a limit that fails closed is no error of its own: %s", lines)
	}
}

// patientStore answers only when its caller has had enough.
type patientStore struct{ ratelimit.Store }

func (patientStore) Take(ctx context.Context, _ []ratelimit.Claim, _ []ratelimit.Status) error {
	<-ctx.Done()
	return ctx.Err()
}

// A client that hangs up in time can end any request in a 503. Nobody has to be told of that at night.
func TestAClientThatHangsUpIsNoErrorOfOurs(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	b.deps.Limiter.Default = &ratelimit.Backend{Name: "redis", Store: patientStore{}}
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	c := b.from("198.51.100.7")
	got := c.send(c.request("POST", "/sessions", strings.NewReader(credentials("ada@example.com", password))).WithContext(gone), openapitest.LimitsUnknown)
	wantProblem(t, got, http.StatusServiceUnavailable, "#temporary-reduced-capacity")
	if log := b.log.String(); !strings.Contains(log, `"status":503`) || strings.Contains(log, `"ERROR"`) || strings.Contains(log, `"WARN"`) {
		t.Errorf("want one line of level INFO, log is %s", log)
	}
}

func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	b := openBank(t, func(d *httpapi.Deps) {
		d.Ready = func(context.Context) error { return errors.New("dial tcp: secret address") }
	})
	ada, from, _ := b.pair()
	ada.must(http.StatusOK, "GET", "/me", "")
	got := ada.do("GET", "/readyz", "")
	wantProblem(t, got, http.StatusServiceUnavailable, "#temporary-reduced-capacity")
	if strings.Contains(got.String(), "secret address") {
		t.Errorf("the client sees the cause: %s", got)
	}
	ada.must(http.StatusOK, "GET", "/healthz", "")

	b.pool.Close() // a fault nobody foresaw
	for _, request := range [][2]string{
		{"GET", "/me"}, {"GET", "/accounts"}, {"GET", "/accounts/" + from}, {"GET", "/accounts/" + from + "/entries"}, {"GET", "/transfers"},
		{"GET", "/transfers/tr_" + strings.Repeat("0", 26)}, {"GET", "/idempotency-keys/k"}, {"GET", "/api-keys"}, {"GET", "/rates"}, {"GET", "/webhooks"}, {"DELETE", noHook},
		{"DELETE", "/api-keys/key_" + strings.Repeat("0", 26)}, {"DELETE", "/sessions/current"},
	} {
		got := ada.rested().do(request[0], request[1], "")
		wantProblem(t, got, http.StatusInternalServerError, "about:blank")
		if strings.Contains(got.String(), "pool") {
			t.Errorf("the client sees the cause: %s", got)
		}
	}
	for path, body := range map[string]string{
		"/users": credentials("new@example.com", password), "/sessions": credentials(ada.email, password), "/accounts": `{"currency":"NGN"}`,
		"/api-keys": `{"name":"n"}`, "/webhooks": `{"url":"https://example.com"}`,
	} {
		wantProblem(t, ada.rested().do("POST", path, body), http.StatusInternalServerError, "about:blank")
	}
	if !strings.Contains(b.log.String(), "closed pool") {
		t.Error("the log does not know the cause")
	}
}

func TestSlowRequestsAreGivenUp(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, from, to := b.pair()
	ada.must(http.StatusOK, "GET", "/me", "")
	deps := b.deps
	deps.Timeout = time.Nanosecond
	b.handler = httpapi.New(deps)
	// First, while the token is fresh: a stale one is looked up, which would time out before the order is taken.
	got := ada.rested().transfer("k", order(from, to, 1))
	wantProblem(t, got, http.StatusServiceUnavailable, "#temporary-reduced-capacity")
	for _, path := range []string{
		"/me", "/rates", "/accounts", "/accounts/" + from, "/accounts/" + from + "/entries", "/transfers", "/transfers/tr_" + strings.Repeat("0", 26),
		"/idempotency-keys/k", "/api-keys", "/webhooks",
	} {
		r := ada.rested().request("GET", path, nil)
		got := ada.send(r, openapitest.LimitsUnknown)
		wantProblem(t, got, http.StatusServiceUnavailable, "timed-out")
		wantHeader(t, got, "Retry-After", "1")
	}
	for path, body := range map[string]string{"/accounts": `{"currency":"NGN"}`, "/api-keys": `{"name":"n"}`, "/webhooks": `{"url":"https://example.com"}`} {
		wantProblem(t, ada.rested().do("POST", path, body), http.StatusServiceUnavailable, "timed-out")
	}
	for _, path := range []string{noKey, noHook, "/sessions/current"} {
		wantProblem(t, ada.rested().do("DELETE", path, ""), http.StatusServiceUnavailable, "timed-out")
	}
}
