package openapitest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
)

// fake notes what a test would have been told.
type fake struct {
	testing.TB
	errors []string
}

func (f *fake) Helper()           {}
func (f *fake) Error(args ...any) { f.errors = append(f.errors, fmt.Sprint(args...)) }
func (f *fake) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

func healthz(requestID string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", requestID)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"ok"}`))
	})
}

const goodID = "req_06h2jnfojpqsd4e18fp7udn8l0"

func TestServeAndClientCheckWhatTheyReturn(t *testing.T) {
	t.Parallel()
	check := func(id string, faults int) {
		tb := &fake{TB: t}
		res := Serve(tb, healthz(id), httptest.NewRequest(http.MethodGet, "/healthz", nil))
		if len(tb.errors) != faults || res.StatusCode != http.StatusOK {
			t.Errorf("Serve with %s: status %d, errors %q, want %d", id, res.StatusCode, tb.errors, faults)
		}

		server := httptest.NewServer(healthz(id))
		defer server.Close()
		tb = &fake{TB: t}
		res, err := Client(tb).Get(server.URL + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body := make([]byte, 64)
		n, _ := res.Body.Read(body)
		if len(tb.errors) != faults || string(body[:n]) != `{"status":"ok"}` {
			t.Errorf("Client with %s: body %q, errors %q, want %d", id, body[:n], tb.errors, faults)
		}
	}
	check(goodID, 0)
	check("req_nonsense", 1)
}

func TestServeComparesTheRequestItSent(t *testing.T) {
	t.Parallel()
	good := goodExchange(contract(), operation{"POST", "/transfers", "/paths/~1transfers/post"}, "201")
	created := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for name, values := range good.header {
			w.Header()[name] = values
		}
		w.WriteHeader(good.status)
		_, _ = w.Write(good.body)
	})
	req := httptest.NewRequest(http.MethodPost, "/transfers", strings.NewReader(`{"amount":-1}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "k")
	tb := &fake{TB: t}
	Serve(tb, created, req)
	if len(tb.errors) != 1 || !strings.Contains(tb.errors[0], "accepted a request the document forbids") {
		t.Errorf("got %q", tb.errors)
	}
}

func TestServeLeavesTheBodyToTheHandler(t *testing.T) {
	t.Parallel()
	body := strings.NewReader("unread")
	Serve(t, healthz(goodID), httptest.NewRequest(http.MethodGet, "/healthz", body))
	if body.Len() != len("unread") {
		t.Error("the body was read")
	}
}

func TestMatchesRoutesBothWays(t *testing.T) {
	t.Parallel()
	router := chi.NewRouter()
	for _, o := range contract().operations {
		router.Method(o.method, o.path, http.NotFoundHandler())
	}
	tb := &fake{TB: t}
	MatchesRoutes(tb, router)
	if len(tb.errors) > 0 {
		t.Errorf("equal routes: %q", tb.errors)
	}
	router.Get("/secret", http.NotFound)
	MatchesRoutes(tb, router)
	MatchesRoutes(tb, chi.NewRouter())
	if got, want := len(tb.errors), 1+len(contract().operations); got != want {
		t.Errorf("got %d errors, want %d", got, want)
	}
}

func TestProblemTypesBothWays(t *testing.T) {
	t.Parallel()
	var table []ProblemType
	for _, p := range contract().problems() {
		table = append(table, p)
	}
	tb := &fake{TB: t}
	ProblemTypes(tb, table)
	if len(table) < 20 || len(tb.errors) > 0 {
		t.Errorf("%d equal types: %q", len(table), tb.errors)
	}
	table[0].Retryable = !table[0].Retryable
	ProblemTypes(tb, table)
	ProblemTypes(tb, append(table[1:], ProblemType{URI: "/problems/new", Title: "New", Status: 418}))
	if got, want := len(tb.errors), 4; got != want { // a changed one differs both ways; then one is gone and one is new
		t.Errorf("got %d errors, want %d: %q", got, want, tb.errors)
	}
}

func TestCoverageNamesWhatNoTestHasSeen(t *testing.T) {
	t.Parallel()
	doc := contract()
	shown := map[string]bool{}
	for _, pair := range doc.pairs() {
		shown[pair] = true
	}
	delete(shown, "GET /me 500")
	delete(shown, "GET /me 503")
	got := doc.coverage(shown, map[string]string{"GET /me 500": "no fault is known", "GET /me 200": "too easy", "GET /you 200": "gone"})
	want := []string{
		"GET /me 200 is exempt (too easy), but a test has seen it",
		"GET /me 503 is in the document, but no test has seen it",
		"GET /you 200 is exempt, but the document does not have it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var out strings.Builder
	if code := report(&out, doc, shown, nil); code != 1 || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("exit code %d, %q", code, out.String())
	}
}

func TestCheckRecordsThePair(t *testing.T) {
	t.Parallel()
	Serve(t, healthz(goodID), httptest.NewRequest(http.MethodGet, "/healthz", nil))
	if !seen.pairs()["GET /healthz 200"] {
		t.Error("the pair is not recorded")
	}
}

func TestFindPrefersTheLiteralPath(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"/accounts":                           "GET /accounts",
		"/accounts/acct_1":                    "GET /accounts/{id}",
		"/accounts/acct_1/entries":            "GET /accounts/{id}/entries",
		"/idempotency-keys/a%2Fb":             "GET /idempotency-keys/{key}",
		"/openapi.yaml":                       "GET /openapi.yaml",
		"/accounts/":                          "",
		"/accounts/acct_1/entries/":           "",
		"/Accounts":                           "",
		"/transfers/tr_1/entries":             "",
		"//accounts":                          "",
		"/problems/insufficient-funds?x=/y/z": "GET /problems/{slug}",
	} {
		o, _, ok := contract().find(http.MethodGet, httptest.NewRequest(http.MethodGet, "http://bank.example"+target, nil).URL)
		if ok != (want != "") || ok && o.String() != want {
			t.Errorf("%s is found as %q, want %q", target, o, want)
		}
	}
}
