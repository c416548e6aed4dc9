package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/httpapi"
	"example.com/bankapi/internal/ratelimit"
)

// admin asks the admin listener.
func (b *bank) admin(method, path, body string) answer {
	b.t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	httpapi.NewAdmin(b.deps).ServeHTTP(w, r)
	return answer{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}
}

type explanation struct {
	Route       string
	Answer      string
	RefusedBy   []string `json:"refused_by"`
	WaitSeconds int64    `json:"wait_seconds"`
	Policies    []struct {
		Policy, Skipped, Key, Mode string
		Cost, Limit, Remaining     int64
		Admits                     bool
	}
}

func (b *bank) explain(question map[string]string) explanation {
	b.t.Helper()
	body, err := json.Marshal(question)
	if err != nil {
		b.t.Fatal(err)
	}
	got := b.admin("POST", "/ratelimit/explain", string(body))
	if got.Status != http.StatusOK {
		b.t.Fatalf("explain %s: %s", body, got)
	}
	return into[explanation](b.t, got)
}

func (e explanation) names() []string {
	names := []string{}
	for _, p := range e.Policies {
		names = append(names, p.Policy)
	}
	slices.Sort(names)
	return names
}

var (
	placeholder = regexp.MustCompile(`\{[^}]*\}`)
	policyNames = regexp.MustCompile(`"([a-z-]+)";q=`)
)

// TestExplainAgreesWithTheWire asks about every route and then sends the request: the policies explained are those that
// the answer's headers name, and those that are private.
func TestExplainAgreesWithTheWire(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, from, to := b.pair()
	me := into[struct{ ID string }](t, ada.must(http.StatusOK, "GET", "/me", ""))
	bodies := map[string]string{
		"/users": credentials("new@example.com", password), "/sessions": credentials(ada.email, "a-password-that-is-wrong"),
		"/password-resets": fmt.Sprintf(`{"email":%q}`, ada.email), "/transfers": order(from, to, 1),
	}
	private := []string{"login-account", "global-transfers", "password-reset-email"}
	asked := 0
	err := chi.Walk(httpapi.New(b.deps).(chi.Routes), func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if pattern == "/sessions/current" {
			return nil // ends the session that the others need
		}
		b.clock.Advance(time.Hour)
		caller := ada
		path := placeholder.ReplaceAllString(pattern, "x")
		question := map[string]string{"method": method, "path": path, "address": caller.address, "email": ada.email}
		if pattern != "/rates" && bodies[pattern] == "" || pattern == "/transfers" {
			question["user"] = me.ID
			if method == "POST" && pattern == "/transfers" {
				question["account"] = from
			}
		}
		e := b.explain(question)
		want := slices.DeleteFunc(e.names(), func(name string) bool { return slices.Contains(private, name) })
		w := httptest.NewRecorder()
		body := strings.NewReader("")
		if method == "POST" {
			body = strings.NewReader(bodies[pattern])
		}
		b.handler.ServeHTTP(w, caller.request(method, path, body, "Idempotency-Key", "k"))
		got := []string{}
		for _, match := range policyNames.FindAllStringSubmatch(w.Header().Get("RateLimit-Policy"), -1) {
			got = append(got, match[1])
		}
		slices.Sort(got)
		if e.Route != method+" "+pattern {
			t.Errorf("%s %s was taken for %q", method, path, e.Route)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s: %d: explained (-) and sent (+):\n%s", method, pattern, w.Code, diff)
		}
		asked++
		return nil
	})
	if err != nil || asked < 20 {
		t.Errorf("asked about %d routes: %v", asked, err)
	}
}

func TestExplainSaysWhatWouldHappenAndChargesNothing(t *testing.T) {
	t.Parallel()
	b := openBank(t, func(d *httpapi.Deps) { d.Limiter.Refusals = ratelimit.NewRefusals(10) })
	ada, from, _ := b.pair()
	me := into[struct{ ID string }](t, ada.must(http.StatusOK, "GET", "/me", ""))
	for range 6 {
		ada.must(http.StatusOK, "GET", "/me", "")
	}
	question := map[string]string{"method": "POST", "path": "/transfers?x=1", "user": me.ID, "account": from, "address": "198.51.100.7"}
	for range 2 {
		e := b.explain(question)
		if e.Answer != "refused" || e.WaitSeconds != 1 || !slices.Equal(e.RefusedBy, []string{"user"}) || e.Route != "POST /transfers" {
			t.Errorf("got %+v, want refused by user for a second", e)
		}
		for _, p := range e.Policies {
			if p.Policy == "user" && (p.Cost != 5 || p.Limit != 10 || p.Remaining != 3 || p.Admits || strings.Contains(p.Key, "usr") || len(p.Key) != 16) {
				t.Errorf("user: %+v", p)
			}
		}
	}
	question["plan"] = "enterprise"
	e := b.explain(question)
	for _, p := range e.Policies {
		if p.Policy == "daily" && p.Skipped == "" {
			t.Errorf("plan enterprise: %+v, want no daily", p)
		}
	}
	for path, want := range map[string]string{"/healthz": "uncounted", "/nothing": "admitted", "/me": "admitted"} {
		if e := b.explain(map[string]string{"method": "get", "path": path}); e.Answer != want {
			t.Errorf("%s: %+v, want %s", path, e, want)
		}
	}
	if e := b.explain(map[string]string{"method": "GET", "path": "/me"}); !slices.Equal(e.names(), []string{"anonymous", "ip"}) {
		t.Errorf("without a user: %v", e.names())
	}
	b.deps.Limiter.Default = &ratelimit.Backend{Name: "redis", Store: downStore{}}
	logIn := map[string]string{"method": "POST", "path": "/sessions", "email": "Ada@Example.com"}
	if e := b.explain(logIn); e.Answer != "unavailable" || !slices.Equal(e.RefusedBy, []string{"login-account", "login-ip"}) {
		t.Errorf("with the store away: %+v", e)
	}
}

func TestExplainRefusesNonsense(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	got := b.admin("POST", "/ratelimit/explain", `{"method":"GET","path":"x y","address":"here","user":"ada","email":"@","account":"1","more":1}`)
	p := wantProblem(t, got, http.StatusBadRequest, "validation-failed")
	if len(p.Errors) != 6 {
		t.Errorf("got %d faults, want 6: %s", len(p.Errors), got)
	}
	wantProblem(t, b.admin("POST", "/ratelimit/explain", ""), http.StatusBadRequest, "malformed-body")
}

// TestTopRefusedKeysAreKnownByTheirHash: the list says how often, and inspect says whether it is this one.
func TestTopRefusedKeysAreKnownByTheirHash(t *testing.T) {
	t.Parallel()
	b := openBank(t, func(d *httpapi.Deps) { d.Limiter.Refusals = ratelimit.NewRefusals(10) })
	b.from("198.51.100.66").flood(50, "GET", "/rates")
	got := b.admin("GET", "/ratelimit/top", "")
	top := into[struct{ Data []ratelimit.RefusedKey }](t, got).Data
	key := b.admin("GET", "/ratelimit/keys/anonymous/198.51.100.66", "")
	want := []ratelimit.RefusedKey{{Policy: "anonymous", Key: key.text("key"), Count: 30}}
	if diff := cmp.Diff(want, top); diff != "" || key.text("key") == "" || key.text("store") != "memory" {
		t.Errorf("%s\n%s\n%s", key, got, diff)
	}
}

func TestKeysAreInspectedAndReset(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	c := b.from("198.51.100.7")
	for range 5 {
		c.must(http.StatusUnauthorized, "POST", "/sessions", credentials("ada@example.com", "not-the-right-password"))
	}
	wantProblem(t, c.do("POST", "/sessions", credentials("ada@example.com", "another-wrong-password")), http.StatusTooManyRequests, "#quota-exceeded")
	left := func(path string) int64 {
		t.Helper()
		got := b.admin("GET", path, "")
		if got.Status != http.StatusOK {
			t.Fatalf("GET %s: %s", path, got)
		}
		return into[struct{ Remaining int64 }](t, got).Remaining
	}
	account := "/ratelimit/keys/login-account/" + url.PathEscape("Ada@Example.com")
	if got := left(account); got != 0 {
		t.Errorf("login-account: %d left, want 0", got)
	}
	for _, address := range []string{"198.51.100.7", "198.51.100.7%2F32", "%3A%3Affff:198.51.100.7"} {
		if got := left("/ratelimit/keys/login-ip/" + address); got != 15 {
			t.Errorf("login-ip of %s: %d left, want 15", address, got)
		}
	}
	if got := b.admin("DELETE", account, ""); got.Status != http.StatusNoContent {
		t.Fatal(got)
	}
	if got := left(account); got != 5 {
		t.Errorf("after the reset: %d left, want 5", got)
	}
	c.must(http.StatusUnauthorized, "POST", "/sessions", credentials("ada@example.com", "not-the-right-password"))
	if log := b.log.String(); !strings.Contains(log, `"msg":"limit reset","policy":"login-account","key":"`) || strings.Contains(log, "ada@") {
		t.Error("the log does not name the reset, or it names the customer")
	}
	wantProblem(t, b.admin("GET", "/ratelimit/keys/nobody/x", ""), http.StatusNotFound, "about:blank")
	wantProblem(t, b.admin("GET", "/ratelimit/keys/daily/x?plan=enterprise", ""), http.StatusNotFound, "about:blank")
	if got := left("/ratelimit/keys/user/x?plan=pro"); got != 100 {
		t.Errorf("user in plan pro: %d left, want 100", got)
	}
	b.deps.Limiter.Default = &ratelimit.Backend{Name: "redis", Store: downStore{}}
	wantProblem(t, b.admin("GET", account, ""), http.StatusServiceUnavailable, "#temporary-reduced-capacity")
	wantProblem(t, b.admin("DELETE", account, ""), http.StatusServiceUnavailable, "#temporary-reduced-capacity")
}
