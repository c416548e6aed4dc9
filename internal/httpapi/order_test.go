package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/httpapi"
)

// The order of the layers, by what it does. Each test fails if two of them change places.

// untouchable is a body that must not be read.
type untouchable struct{ t testing.TB }

func (u untouchable) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// unread is a request whose body must not be read, not even by the test's own helper.
func (c caller) unread(method, path string) *http.Request {
	r := c.request(method, path, untouchable{c.t})
	r.GetBody = func() (io.ReadCloser, error) { return r.Body, nil }
	return r
}

func TestRefusesBeforeBodyKeyAndDatabase(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	ada.remembered()
	ada.rested()
	for range 10 {
		ada.must(http.StatusOK, "GET", "/accounts", "")
	}
	b.pool.Close()
	got := ada.send(ada.unread("POST", "/transfers")) // no key, and never mind
	wantProblem(t, got, http.StatusTooManyRequests, "quota-exceeded")

	wantProblem(t, ada.do("GET", "/accounts", ""), http.StatusTooManyRequests, "quota-exceeded")
	if strings.Contains(b.log.String(), "closed pool") {
		t.Error("a refused request asked the database")
	}
}

// remembered waits until the caller's token is answered for from memory: until the listener for revocations is up.
func (c caller) remembered() {
	for {
		before := c.pool.Stat().AcquireCount()
		c.must(http.StatusOK, "GET", "/limits", "")
		if c.pool.Stat().AcquireCount() == before {
			return
		}
		c.rested()
		time.Sleep(5 * time.Millisecond)
	}
}

func TestAddressLimitComesBeforeTheToken(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	crowd := b.from("198.51.100.7")
	crowd.flood(300, "GET", "/nothing-here")
	b.pool.Close()
	for _, path := range []string{"/me", "/rates", "/nothing-here", "/transfers"} {
		got := crowd.do("GET", path, "")
		if p := wantProblem(t, got, http.StatusTooManyRequests, "quota-exceeded"); len(p.Violated) != 1 || p.Violated[0] != "ip" {
			t.Errorf("GET %s: violated %v, want ip", path, p.Violated)
		}
	}
	wantProblem(t, crowd.do("PUT", "/me", ""), http.StatusTooManyRequests, "quota-exceeded")
	wantProblem(t, crowd.send(crowd.unread("POST", "/sessions")), http.StatusTooManyRequests, "quota-exceeded")
}

func TestPagesAndProbesStandOutsideTheLimits(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	crowd := b.from("198.51.100.7")
	crowd.flood(300, "GET", "/nothing-here")
	for _, path := range []string{"/", "/docs", "/docs/swagger-ui.css", "/openapi.yaml", "/problems/insufficient-funds", "/healthz", "/readyz"} {
		got := crowd.must(http.StatusOK, "GET", path, "")
		wantHeader(t, got, "RateLimit", "")
	}
}

func TestPreflightsAreNotChargedAndRefusalsCarryCORS(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	crowd := b.from("198.51.100.7")
	crowd.flood(300, "GET", "/nothing-here")
	preflight := crowd.do("OPTIONS", "/transfers", "", "Origin", "https://shop.example",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,idempotency-key,content-type")
	if preflight.Status != http.StatusNoContent {
		t.Errorf("preflight: %s", preflight)
	}
	wantHeader(t, preflight, "Access-Control-Allow-Origin", "*")
	wantHeader(t, preflight, "Access-Control-Allow-Methods", "POST")
	wantHeader(t, preflight, "RateLimit", "")
	refused := crowd.do("GET", "/rates", "", "Origin", "https://shop.example")
	wantProblem(t, refused, http.StatusTooManyRequests, "quota-exceeded")
	wantHeader(t, refused, "Access-Control-Allow-Origin", "*")
	want := "RateLimit, RateLimit-Policy, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, Idempotent-Replayed, Location, Link"
	if got := refused.Header.Get("Access-Control-Expose-Headers"); !strings.EqualFold(got, want) {
		t.Errorf("exposed: got %q, want %q", got, want)
	}
}

func TestNamedOriginsOnly(t *testing.T) {
	t.Parallel()
	b := openBank(t, func(d *httpapi.Deps) { d.Origins = []string{"https://shop.example"} })
	for origin, want := range map[string]string{"https://shop.example": "https://shop.example", "https://evil.example": ""} {
		got := b.from("198.51.100.7").do("GET", "/healthz", "", "Origin", origin)
		wantHeader(t, got, "Access-Control-Allow-Origin", want)
	}
}

func TestPanicsAreLoggedAndBare(t *testing.T) {
	t.Parallel()
	b := openBank(t, func(d *httpapi.Deps) {
		d.Ready = func(context.Context) error { panic("secret cause") }
	})
	got := b.from("198.51.100.7").do("GET", "/readyz", "")
	wantProblem(t, got, http.StatusInternalServerError, "about:blank")
	if strings.Contains(got.String(), "secret cause") {
		t.Errorf("the client sees the cause: %s", got)
	}
	wantHeader(t, got, "X-Content-Type-Options", "nosniff")
	for _, want := range []string{"secret cause", `"stack":"`, `"status":500`, got.Header.Get("X-Request-Id")} {
		if !strings.Contains(b.log.String(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
}

func TestEveryAnswerIsSecuredAndNamed(t *testing.T) {
	t.Parallel()
	b := openBank(t, func(d *httpapi.Deps) { d.BehindTLS = true })
	c := b.from("198.51.100.7")
	for _, path := range []string{"/healthz", "/nothing-here", "/me", "/rates"} {
		got := c.do("GET", path, "", "X-Request-Id", "mine-1")
		wantHeader(t, got, "X-Content-Type-Options", "nosniff")
		wantHeader(t, got, "Cache-Control", "no-store")
		wantHeader(t, got, "Referrer-Policy", "no-referrer")
		wantHeader(t, got, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		wantHeader(t, got, "Strict-Transport-Security", "max-age=31536000")
		id := got.Header.Get("X-Request-Id")
		if !strings.HasPrefix(id, "req_") {
			t.Errorf("%s: request id %q is not ours", path, id)
		}
		if got.Status >= 400 && got.text("request_id") != id {
			t.Errorf("%s: the body names %q, the header %q", path, got.text("request_id"), id)
		}
		if !strings.Contains(b.log.String(), `"request_id":"`+id+`"`) {
			t.Errorf("%s: no log line names %s", path, id)
		}
	}
	if !strings.Contains(b.log.String(), `"client_request_id":"mine-1"`) {
		t.Error("the client's own request id is not in the log")
	}
	plain := openBank(t)
	wantHeader(t, plain.from("198.51.100.7").do("GET", "/healthz", ""), "Strict-Transport-Security", "")
}

func TestMethodsAreTold(t *testing.T) {
	t.Parallel()
	c := openBank(t).from("198.51.100.7")
	for path, want := range map[string]string{
		"/transfers": "GET, HEAD, POST", "/users": "POST", "/sessions/current": "DELETE", "/me": "GET, HEAD", "/healthz": "GET, HEAD",
	} {
		got := c.do("PATCH", path, "")
		wantProblem(t, got, http.StatusMethodNotAllowed, "about:blank")
		wantHeader(t, got, "Allow", want)
	}
	wantProblem(t, c.do("BREW", "/nothing-here", ""), http.StatusNotFound, "about:blank")
	wantProblem(t, c.do("BREW", "/me", ""), http.StatusMethodNotAllowed, "about:blank")
	wantProblem(t, c.do("OPTIONS", "/me", ""), http.StatusMethodNotAllowed, "about:blank")
	for _, path := range []string{"/transfers/", "//transfers", "/Transfers", "/me/", "/accounts/x/y/z", "/%74ransfers/"} {
		wantProblem(t, c.do("GET", path, ""), http.StatusNotFound, "about:blank")
	}
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	for _, path := range []string{"/me", "/rates", "/healthz", "/problems/timed-out", "/limits"} {
		get := ada.must(http.StatusOK, "GET", path, "")
		server := httptest.NewServer(b.handler)
		request, _ := http.NewRequest("HEAD", server.URL+path, nil)
		request.Header.Set("Authorization", "Bearer "+ada.token)
		head, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(head.Body)
		head.Body.Close()
		server.Close()
		if head.StatusCode != http.StatusOK || len(body) != 0 || head.Header.Get("Content-Type") != get.Header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d, %d bytes, %q", path, head.StatusCode, len(body), head.Header.Get("Content-Type"))
		}
	}
}

func TestLogSaysNothingSecret(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	from, to := ada.openAccount("NGN"), ada.openAccount("NGN")
	ada.rested().transfer("secret-key-1", `{"from_account":"`+from+`","to_account":"`+to+`","amount":98765,"currency":"NGN","memo":"secret-memo"}`)
	ada.must(http.StatusOK, "GET", "/idempotency-keys/secret-key-1", "")
	ada.do("GET", "/secret-path?secret=1", "")
	log := b.log.String()
	for _, secret := range []string{password, ada.token, "bank_sess_", "98765", "secret", ada.email} {
		if strings.Contains(log, secret) {
			t.Errorf("the log contains %q", secret)
		}
	}
	for _, want := range []string{`"route":"/idempotency-keys/{key}"`, `"status":201`, `"user":"usr_`, `"client":"10.0.0.1/32"`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
}

func TestBadDepsPanicAtStartUp(t *testing.T) {
	t.Parallel()
	good := openBank(t).deps
	for want, spoil := range map[string]func(*httpapi.Deps){
		"Deps is incomplete": func(d *httpapi.Deps) { d.Auth = nil },
	} {
		bad := good
		spoil(&bad)
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("New panicked with %s, want %q", got, want)
				}
			}()
			httpapi.New(bad)
		}()
	}
}
