package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryProblemTypeIsWhole(t *testing.T) {
	t.Parallel()
	slug := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	seen := map[string]bool{}
	for _, p := range ProblemTypes() {
		if p.URI == "" || p.Title == "" || p.Status < 400 || p.Status > 599 {
			t.Errorf("incomplete: %+v", p)
		}
		if key := p.URI + strconv.Itoa(p.Status); seen[key] {
			t.Errorf("%s is there twice", p.URI)
		} else {
			seen[key] = true
		}
		if p.Slug != "" && (p.URI != "/problems/"+p.Slug || !slug.MatchString(p.Slug)) {
			t.Errorf("slug %q does not fit type %q", p.Slug, p.URI)
		}
		if (p.Status == 401) != (p.Challenge != "") && p.Slug != "two-credentials" {
			t.Errorf("%s: status %d with challenge %q", p.Slug, p.Status, p.Challenge)
		}
		if p.RetryAfter > 0 && !p.Retryable {
			t.Errorf("%s says when to retry and that it is no use", p.Slug)
		}
	}
}

func TestEveryErrorRowGivesAWholeAnswer(t *testing.T) {
	t.Parallel()
	for _, row := range rows {
		t.Run(row.err.Error(), func(t *testing.T) {
			t.Parallel()
			problem := problemOf(fmt.Errorf("some deed: %w", row.err))
			if problem.Type != row.is || problem.Detail == "" {
				t.Errorf("got %s %q, want %s with a detail", problem.Type.URI, problem.Detail, row.is.URI)
			}
			w := httptest.NewRecorder()
			problem.write(w, "/somewhere", "req_1")
			checkProblem(t, w, row.is)
		})
	}
}

// checkProblem checks a recorded answer against its type: status, headers, constant members.
func checkProblem(t *testing.T, w *httptest.ResponseRecorder, want *ProblemType) {
	t.Helper()
	var body struct {
		Type, Title, Detail, Instance string
		Status                        int
		RequestID                     string `json:"request_id"`
		Retryable                     *bool
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("body %s: %v", w.Body, err)
	}
	if w.Code != want.Status || body.Status != want.Status || body.Type != want.URI || body.Title != want.Title ||
		body.RequestID == "" || body.Retryable == nil || *body.Retryable != want.Retryable {
		t.Errorf("got %d %s, want %+v", w.Code, w.Body, *want)
	}
	header := w.Header()
	if got := header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type: got %q", got)
	}
	if got := header.Get("WWW-Authenticate"); got != want.Challenge {
		t.Errorf("WWW-Authenticate: got %q, want %q", got, want.Challenge)
	}
	if want.RetryAfter > 0 && header.Get("Retry-After") != strconv.Itoa(want.RetryAfter) {
		t.Errorf("Retry-After: got %q, want %d", header.Get("Retry-After"), want.RetryAfter)
	}
}

func TestUnknownErrorsTellAClientNothing(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	problemOf(errors.New("dial tcp 10.0.0.3:5432: password=secret")).write(w, "/me", "req_1")
	want := `{"type":"about:blank","title":"Internal Server Error","status":500,"instance":"/me","request_id":"req_1","retryable":false}` + "\n"
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Error(diff)
	}
}

func TestProblemBodyIsWhatJSONWouldWrite(t *testing.T) {
	t.Parallel()
	text := "a\"b\\c\n\x00\x7f\u2028é\xff😀</script>"
	p := Problem{Type: validation, Detail: text, Violated: []string{"ip", "user"}, Faults: []Fault{{Detail: "x", Pointer: "#/a"}, {Detail: "y", Parameter: text}}}
	var got map[string]any
	if err := json.Unmarshal(p.append(nil, "/p", "req_1"), &got); err != nil {
		t.Fatal(err)
	}
	clean := "a\"b\\c\n\x00\x7f\u2028é\ufffd😀</script>"
	want := map[string]any{
		"type": "/problems/validation-failed", "title": validation.Title, "status": 400.0, "detail": clean, "instance": "/p",
		"request_id": "req_1", "retryable": false, "violated-policies": []any{"ip", "user"},
		"errors": []any{map[string]any{"detail": "x", "pointer": "#/a"}, map[string]any{"detail": "y", "parameter": clean}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
