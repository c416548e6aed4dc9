package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTour walks through every operation once, as a customer would.
func TestTour(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace := b.somebody(), b.somebody()

	me := ada.must(http.StatusOK, "GET", "/me", "")
	if got := me.text("email"); got != ada.email {
		t.Errorf("GET /me: got e-mail %q, want %q", got, ada.email)
	}
	opened := ada.must(http.StatusCreated, "POST", "/accounts", `{"currency":"NGN","name":"Everyday R&D"}`)
	from, to := opened.text("id"), grace.openAccount("NGN")
	wantHeader(t, opened, "Location", "/accounts/"+from)
	if got := ada.must(http.StatusOK, "GET", "/accounts/"+from, ""); string(got.Body) != string(opened.Body) {
		t.Errorf("GET account: got %s, want %s", got, opened)
	}
	ada.rested()

	sent := ada.transfer("rent-1", order(from, to, 12550))
	if sent.Status != http.StatusCreated {
		t.Fatalf("transfer: %s", sent)
	}
	wantHeader(t, sent, "Location", "/transfers/"+sent.text("id"))
	wantHeader(t, sent, "Idempotent-Replayed", "")
	if got := grace.must(http.StatusOK, "GET", sent.Header.Get("Location"), ""); string(got.Body) != string(sent.Body) {
		t.Errorf("the receiver reads %s, want %s", got, sent)
	}
	again := ada.transfer(`"rent-1"`, " { \"currency\":\"NGN\", \"amount\":12550, \"to_account\":\""+to+"\",\"from_account\":\""+from+"\",\"memo\":\"\"}")
	if again.Status != http.StatusCreated || string(again.Body) != string(sent.Body) {
		t.Errorf("replay: got %s, want %s", again, sent)
	}
	wantHeader(t, again, "Idempotent-Replayed", "true")
	wantHeader(t, again, "Location", "/transfers/"+sent.text("id"))
	if again.Header.Get("X-Request-Id") == sent.Header.Get("X-Request-Id") {
		t.Error("the replay has the request id of the first answer")
	}
	ada.rested()

	key := ada.must(http.StatusOK, "GET", "/idempotency-keys/rent-1", "")
	if key.text("state") != "done" || key.text("transfer_id") != sent.text("id") {
		t.Errorf("key: %s", key)
	}
	if got := ada.must(http.StatusOK, "GET", "/idempotency-keys/never-used", ""); got.text("state") != "unknown" {
		t.Errorf("unused key: %s", got)
	}
	if got := grace.must(http.StatusOK, "GET", "/idempotency-keys/rent-1", ""); got.text("state") != "unknown" {
		t.Errorf("somebody else's key: %s", got)
	}
	ada.must(http.StatusOK, "GET", "/rates", "")
	ada.must(http.StatusOK, "GET", "/rates?base=EUR", "")

	made := ada.must(http.StatusCreated, "POST", "/api-keys", `{"name":"payroll run"}`)
	program := ada
	program.token = made.text("key")
	if got := program.must(http.StatusOK, "GET", "/api-keys", ""); strings.Contains(string(got.Body), program.token) {
		t.Errorf("the list shows a secret: %s", got)
	}
	wantProblem(t, program.do("POST", "/api-keys", `{"name":"offspring"}`), http.StatusForbidden, "session-required")
	wantProblem(t, program.do("DELETE", "/sessions/current", ""), http.StatusForbidden, "session-required")
	ada.rested()
	ada.must(http.StatusNoContent, "DELETE", "/api-keys/"+made.text("id"), "")
	wantProblem(t, ada.do("DELETE", "/api-keys/"+made.text("id"), ""), http.StatusNotFound, "api-key-not-found")
	wantProblem(t, program.do("GET", "/me", ""), http.StatusUnauthorized, "invalid-token")

	ada.must(http.StatusNoContent, "DELETE", "/sessions/current", "")
	wantProblem(t, ada.do("GET", "/me", ""), http.StatusUnauthorized, "invalid-token")
}

// page is a list as a client reads it.
type page struct {
	Data       []map[string]any
	HasMore    bool   `json:"has_more"`
	NextCursor string `json:"next_cursor"`
}

func TestPagesShowEachRowOnceWhileRowsArrive(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	from, to := ada.openAccount("NGN"), ada.openAccount("NGN")
	for i := range 6 {
		if got := ada.rested().transfer(fmt.Sprint("k", i), order(from, to, int64(i+1))); got.Status != http.StatusCreated {
			t.Fatal(got)
		}
	}
	for _, list := range []string{"/transfers", "/accounts/" + from + "/entries"} {
		var amounts []string
		path := list + "?limit=3"
		for n := 0; path != ""; n++ {
			got := ada.rested().must(http.StatusOK, "GET", path, "")
			p := into[page](t, got)
			for _, row := range p.Data {
				amounts = append(amounts, strings.TrimPrefix(fmt.Sprint(row["amount"]), "-"))
			}
			path = ""
			if p.HasMore {
				link := got.Header.Get("Link")
				path = strings.TrimSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
				if want := "cursor=" + p.NextCursor; !strings.Contains(path, want) {
					t.Errorf("Link %q does not carry %s", link, want)
				}
			}
			ada.rested().transfer(fmt.Sprint(list, n), order(from, to, 50)) // arrives before the pages still to come
		}
		want := []string{"6", "5", "4", "3", "2", "1"}
		var old []string
		for _, a := range amounts {
			if a != "50" && a != "100000" {
				old = append(old, a)
			}
		}
		if diff := cmp.Diff(want, old); diff != "" {
			t.Errorf("%s: %s", list, diff)
		}
	}
	first := into[page](t, ada.rested().must(http.StatusOK, "GET", "/accounts?limit=1", ""))
	second := into[page](t, ada.must(http.StatusOK, "GET", "/accounts?limit=1&cursor="+first.NextCursor, ""))
	if first.Data[0]["id"] != to || second.Data[0]["id"] != from || second.HasMore {
		t.Errorf("accounts newest first: got %v then %v, want %s then %s", first, second, to, from)
	}
	wantProblem(t, ada.do("GET", "/transfers?cursor="+first.NextCursor, ""), http.StatusBadRequest, "validation-failed")
}
