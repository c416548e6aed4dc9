package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/httpapi"
)

var (
	noAccount  = "/accounts/acct_" + strings.Repeat("0", 26)
	noTransfer = "/transfers/tr_" + strings.Repeat("0", 26)
	noHook     = "/webhooks/hook_" + strings.Repeat("0", 26)
	noKey      = "/api-keys/key_" + strings.Repeat("0", 26)
)

// memberRoutes is every operation behind a token.
var memberRoutes = [][2]string{
	{"DELETE", "/sessions/current"}, {"GET", "/me"}, {"GET", "/accounts"}, {"POST", "/accounts"}, {"GET", noAccount}, {"GET", noAccount + "/entries"},
	{"GET", "/transfers"}, {"POST", "/transfers"}, {"GET", noTransfer}, {"GET", "/idempotency-keys/k"}, {"GET", "/limits"},
	{"GET", "/api-keys"}, {"POST", "/api-keys"}, {"DELETE", noKey},
	{"GET", "/webhooks"}, {"POST", "/webhooks"}, {"DELETE", noHook},
}

func TestMemberRoutesWantAToken(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	for i, route := range memberRoutes {
		c := b.from(fmt.Sprintf("198.51.100.%d", i))
		wantProblem(t, c.do(route[0], route[1], ""), http.StatusUnauthorized, "credentials-missing")
		for _, bad := range []string{"bank_sess_x", "bank_sess_" + strings.Repeat("0", 36), "bank_key_" + strings.Repeat("z", 36), "é", "a b"} {
			c.token = bad
			got := c.do(route[0], route[1], "")
			wantProblem(t, got, http.StatusUnauthorized, "invalid-token")
			wantHeader(t, got, "WWW-Authenticate", `Bearer realm="bankapi", error="invalid_token"`)
		}
		r := c.request(route[0], route[1], nil)
		r.Header.Add("Authorization", "Bearer "+c.token)
		wantProblem(t, c.send(r), http.StatusBadRequest, "two-credentials")
	}
}

func TestMemberRoutesAreCharged(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	ada.flood(11, "GET", "/me")
	for _, route := range memberRoutes {
		if route[1] == "/limits" {
			ada.must(http.StatusOK, "GET", "/limits", "")
			continue
		}
		p := wantProblem(t, ada.do(route[0], route[1], ""), http.StatusTooManyRequests, "#quota-exceeded")
		if len(p.Violated) != 1 || p.Violated[0] != "user" {
			t.Errorf("%v: violated %v, want user", route, p.Violated)
		}
	}
	ada.flood(300, "GET", "/limits")
	wantProblem(t, ada.do("GET", "/limits", ""), http.StatusTooManyRequests, "#quota-exceeded")
}

func TestQueriesAreStrictEverywhere(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	for _, route := range memberRoutes {
		p := wantProblem(t, ada.rested().do(route[0], route[1]+"?surprise=1", ""), http.StatusBadRequest, "validation-failed")
		if len(p.Errors) != 1 || p.Errors[0].Parameter != "surprise" {
			t.Errorf("%v: errors %v, want one for surprise", route, p.Errors)
		}
	}
	for _, path := range []string{
		"/accounts?limit=0", "/transfers?limit=101", noAccount + "/entries?cursor=x", "/transfers?cursor=AAAA&cursor=BBBB", "/transfers?limit=%zz",
		"/rates?base=", "/rates?base=ngn", "/rates?base=NGN&base=EUR", "/rates?bass=NGN",
		"/accounts/x", "/accounts/" + strings.ToUpper(noAccount[10:]), "/accounts/x/entries", "/transfers/x", "/transfers/%00", "/transfers/tr_" + strings.Repeat("z", 26),
	} {
		wantProblem(t, ada.rested().do("GET", path, ""), http.StatusBadRequest, "validation-failed")
	}
	wantProblem(t, ada.do("DELETE", "/api-keys/x", ""), http.StatusBadRequest, "validation-failed")
	wantProblem(t, ada.do("DELETE", "/webhooks/x", ""), http.StatusBadRequest, "validation-failed")
	for _, key := range []string{"a%20b", "%00", "%C3%A9", "a%2Cb", `%22`, strings.Repeat("k", 256)} {
		wantProblem(t, ada.rested().do("GET", "/idempotency-keys/"+key, ""), http.StatusBadRequest, "idempotency-key-invalid")
	}
	if got := ada.rested().must(http.StatusOK, "GET", "/idempotency-keys/a%2Fb", ""); got.text("key") != "a/b" {
		t.Errorf("a key with a slash: %s", got)
	}
}

func TestWhatIsNotThereIs404(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	for path, slug := range map[string]string{
		noAccount: "account-not-found", noAccount + "/entries": "account-not-found", noTransfer: "transfer-not-found",
		"/rates?base=XXX": "rates-not-found", "/problems/nothing": "about:blank", "/problems/..%2fREADME": "about:blank",
		"/docs/x": "about:blank", "/docs/oauth2-redirect.html": "about:blank", "/metrics": "about:blank", "/debug/pprof/": "about:blank", "/integrity": "about:blank",
	} {
		wantProblem(t, ada.rested().do("GET", path, ""), http.StatusNotFound, slug)
	}
	wantProblem(t, ada.rested().do("DELETE", noKey, ""), http.StatusNotFound, "api-key-not-found")
	wantProblem(t, ada.rested().do("DELETE", noHook, ""), http.StatusNotFound, "webhook-not-found")
	grace := b.somebody()
	hers := grace.openAccount("NGN")
	wantProblem(t, ada.rested().do("GET", "/accounts/"+hers, ""), http.StatusNotFound, "account-not-found")
	wantProblem(t, ada.do("GET", "/accounts/"+hers+"/entries", ""), http.StatusNotFound, "account-not-found")
}

func TestBodiesAreStrictEverywhere(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	for _, path := range []string{"/users", "/sessions", "/password-resets", "/password-resets/confirm", "/accounts", "/api-keys", "/webhooks", "/transfers"} {
		for _, body := range []string{"[]", "{", "null", `{"a":1}{}`, `{"a":1,"a":2}`, `{"name":"\ud800"}`, `{"name":"\u0000"}`, "\xff"} {
			got := ada.rested().do("POST", path, body, "Idempotency-Key", "k")
			wantProblem(t, got, http.StatusBadRequest, "malformed-body")
		}
		wantProblem(t, ada.rested().do("POST", path, `{"surprise":1}`, "Idempotency-Key", "k"), http.StatusBadRequest, "validation-failed")
		large := `{"name":"` + strings.Repeat("a", 64<<10) + `"}`
		wantProblem(t, ada.rested().do("POST", path, large, "Idempotency-Key", "k"), http.StatusRequestEntityTooLarge, "about:blank")
		text := ada.rested().do("POST", path, `{}`, "Content-Type", "text/plain", "Idempotency-Key", "k")
		wantProblem(t, text, http.StatusUnsupportedMediaType, "about:blank")
	}
	for body, pointers := range map[string]string{
		`{"email":"no address","password":""}`: "#/email",
		`{"email":7,"password":null}`:          "#/email #/password",
		`{}`:                                   "#/email #/password",
		`{"email":"a@b.example","password":"x","plan":"pro"}`: "#/plan",
	} {
		p := wantProblem(t, ada.rested().do("POST", "/sessions", body), http.StatusBadRequest, "validation-failed")
		var got []string
		for _, e := range p.Errors {
			got = append(got, e.Pointer)
		}
		if strings.Join(got, " ") != pointers {
			t.Errorf("%s: faults at %v, want %s", body, got, pointers)
		}
	}
	wantProblem(t, ada.rested().do("POST", "/accounts", `{"currency":"XXX"}`), http.StatusUnprocessableEntity, "currency-unsupported")
}

func TestAnAPIKeysNameIsToldWhereItIsWrong(t *testing.T) {
	t.Parallel()
	ada := openBank(t).somebody()
	for _, name := range []string{``, `   `, `\u200b`, `\u202e`, `\t`} {
		p := wantProblem(t, ada.rested().do("POST", "/api-keys", `{"name":"`+name+`"}`), http.StatusBadRequest, "validation-failed")
		if len(p.Errors) != 1 || p.Errors[0].Pointer != "#/name" {
			t.Errorf("name %q: faults %v, want one at #/name", name, p.Errors)
		}
	}
}

func TestThereIsAnEndToAccountsAndKeys(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	for range 50 {
		ada.rested().openAccount("NGN")
	}
	wantProblem(t, ada.rested().do("POST", "/accounts", `{"currency":"NGN"}`), http.StatusUnprocessableEntity, "too-many-accounts")
	for range auth.MaxAPIKeys {
		ada.rested().must(http.StatusCreated, "POST", "/api-keys", `{"name":"k"}`)
	}
	wantProblem(t, ada.rested().do("POST", "/api-keys", `{"name":"k"}`), http.StatusUnprocessableEntity, "too-many-api-keys")
	if got := into[page](t, ada.rested().must(http.StatusOK, "GET", "/api-keys?limit=100", "")); len(got.Data) != 100 || got.HasMore {
		t.Errorf("%d keys, more: %t; want 100 and no more", len(got.Data), got.HasMore)
	}
}

// TestKeyInUse holds the sender's row, so that the first order with the key cannot be settled.
func TestKeyInUse(t *testing.T) {
	t.Parallel()
	b := openBank(t, func(d *httpapi.Deps) { d.Timeout = time.Second })
	ada, from, to := b.pair()
	held, err := b.pool.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Exec(context.Background(), "SELECT FROM accounts FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	first := make(chan answer, 1)
	go func() { first <- ada.transfer("rent", order(from, to, 10)) }()
	for into[struct{ State string }](t, ada.rested().do("GET", "/idempotency-keys/rent", "")).State != "in_progress" {
		time.Sleep(5 * time.Millisecond)
	}
	got := ada.rested().transfer("rent", order(from, to, 10))
	wantProblem(t, got, http.StatusConflict, "idempotency-key-in-use")
	wantHeader(t, got, "Retry-After", "1")
	if err := held.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := <-first; got.Status != http.StatusCreated {
		t.Errorf("the first: %s", got)
	}
	if got := ada.rested().transfer("rent", order(from, to, 10)); got.Status != http.StatusCreated || got.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("afterwards: %s, want the replay", got)
	}
}

func TestABrokenBankAnswers500(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	deps := b.deps
	deps.Auth = &auth.Service{} // panics when it is asked about a well-formed token
	b.handler = httpapi.New(deps)
	for _, route := range memberRoutes {
		wantProblem(t, ada.rested().do(route[0], route[1], ""), http.StatusInternalServerError, "about:blank")
	}
}

func TestPagesForPeople(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	c := b.from("198.51.100.7")
	home := c.must(http.StatusOK, "GET", "/", "")
	if !strings.Contains(string(home.Body), "curl -s http://example.com/sessions") {
		t.Errorf("the home page has no curl lines for this host: %s", home)
	}
	docs := c.must(http.StatusOK, "GET", "/docs", "")
	if policy := docs.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'self' 'sha256-") {
		t.Errorf("docs policy: %s", policy)
	}
	for _, outside := range []string{"https://cdn", "unpkg.com", "//fonts"} {
		if strings.Contains(string(docs.Body), outside) {
			t.Errorf("the docs load something from %s", outside)
		}
	}
	for _, asset := range []string{"swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-standalone-preset.js", "favicon-16x16.png", "favicon-32x32.png"} {
		if !strings.Contains(string(docs.Body), "/docs/"+asset) {
			t.Errorf("the docs do not use %s", asset)
		}
		got := c.must(http.StatusOK, "GET", "/docs/"+asset, "")
		again := c.do("GET", "/docs/"+asset, "", "If-None-Match", got.Header.Get("ETag"))
		if again.Status != http.StatusNotModified {
			t.Errorf("%s asked for again: %d, want 304", asset, again.Status)
		}
	}
	markdown := c.must(http.StatusOK, "GET", "/problems/insufficient-funds", "")
	wantHeader(t, markdown, "Content-Type", "text/markdown; charset=utf-8")
	html := c.must(http.StatusOK, "GET", "/problems/insufficient-funds", "", "Accept", "text/html,*/*;q=0.8")
	wantHeader(t, html, "Content-Type", "text/html; charset=utf-8")
	wantHeader(t, html, "Vary", "Accept")
	if !strings.Contains(string(html.Body), "<h1") {
		t.Errorf("the page for browsers is no HTML: %s", html)
	}
}
