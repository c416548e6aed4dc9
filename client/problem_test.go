package client_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/api"
	"example.com/bankapi/client"
)

// answers returns a client of a server that always gives one answer.
func answers(t testing.TB, status int, contentType, body string, headers ...string) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return &client.Client{URL: server.URL}
}

func TestProblemsTellWhatTheServerSaid(t *testing.T) {
	t.Parallel()
	const body = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded",` +
		`"status":429,"detail":"Send it again in 3 s.","instance":"/me","request_id":"req_1","retryable":true,"violated-policies":["user"],"new":1}`
	_, err := answers(t, 429, "application/problem+json", body, "Retry-After", "3", "Idempotent-Replayed", "true").Me(t.Context())
	want := &client.Problem{
		Type: "https://iana.org/assignments/http-problem-types#quota-exceeded", Title: "Request cannot be satisfied as assigned quota has been exceeded",
		Status: 429, Detail: "Send it again in 3 s.", Instance: "/me", RequestID: "req_1", Retryable: true,
		ViolatedPolicies: []string{"user"}, RetryAfter: 3 * time.Second, Replayed: true,
	}
	got, _ := errors.AsType[*client.Problem](err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !errors.Is(err, client.ErrQuotaExceeded) || errors.Is(err, client.ErrReducedCapacity) {
		t.Error("it is not ErrQuotaExceeded, or another kind too")
	}
}

func TestProblemsAreMadeOfAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for body, contentType := range map[string]string{
		"<html>upstream sent nothing</html>": "text/html", "": "text/plain", `{"type":7}`: "application/json", `{}`: "application/problem+json",
	} {
		_, err := answers(t, 502, contentType, body, "X-Request-Id", "req_2").Me(t.Context())
		want := &client.Problem{Type: "about:blank", Title: "Bad Gateway", Status: 502, RequestID: "req_2", Retryable: true}
		got, _ := errors.AsType[*client.Problem](err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", body, diff)
		}
	}
}

func TestAnAnswerThatCannotBeReadIsLost(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "{", `{"id":7}`, "<html>"} {
		_, err := answers(t, 201, "application/json", body).Transfer(t.Context(), "k", client.Order{})
		if lost := (*client.LostError)(nil); !errors.As(err, &lost) {
			t.Errorf("201 with %q: %v, want a LostError", body, err)
		}
	}
}

// Each kind of problem in the API's document has its value here, and none is here that the document does not have.
func TestKindsAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile(`type: \{ const: "(?:/problems/|https://iana\.org/\S+#)([a-z-]+)" \}`).FindAllStringSubmatch(string(api.Spec), -1) {
		documented[m[1]] = true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Err") {
			kinds = append(kinds, strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`))
		}
		return true
	})
	for kind := range documented {
		if !slices.Contains(kinds, kind) {
			t.Errorf("%s is in the document and has no Err here", kind)
		}
	}
	if len(documented) < 20 || len(kinds) != len(documented) {
		t.Errorf("%d kinds here, %d in the document", len(kinds), len(documented))
	}
}
