package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/httpapi"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/webhooks"
)

type hookBody struct {
	ID, URL, Secret string
}

func TestWebhooksAreMadeListedAndDeleted(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace := b.somebody(), b.somebody()
	var made []hookBody
	for i := range 3 {
		got := ada.must(http.StatusCreated, "POST", "/webhooks", fmt.Sprintf(`{"url":"https://shop.example/%d"}`, i))
		h := into[hookBody](t, got)
		wantHeader(t, got, "Location", "/webhooks/"+h.ID)
		if !strings.HasPrefix(h.Secret, "whsec_") {
			t.Errorf("the secret is %q", h.Secret)
		}
		made = append([]hookBody{{ID: h.ID, URL: h.URL}}, made...)
	}
	first := ada.must(http.StatusOK, "GET", "/webhooks?limit=2", "")
	page := into[struct {
		Data       []hookBody
		HasMore    bool   `json:"has_more"`
		NextCursor string `json:"next_cursor"`
	}](t, first)
	if diff := cmp.Diff(made[:2], page.Data); diff != "" || !page.HasMore {
		t.Error(diff)
	}
	rest := into[struct{ Data []hookBody }](t, ada.must(http.StatusOK, "GET", "/webhooks?limit=2&cursor="+page.NextCursor, ""))
	if diff := cmp.Diff(made[2:], rest.Data); diff != "" {
		t.Error(diff)
	}
	path := "/webhooks/" + made[0].ID
	wantProblem(t, grace.do("DELETE", path, ""), http.StatusNotFound, "webhook-not-found")
	ada.must(http.StatusNoContent, "DELETE", path, "")
	wantProblem(t, ada.do("DELETE", path, ""), http.StatusNotFound, "webhook-not-found")
	if strings.Contains(b.log.String(), "whsec_") {
		t.Error("a secret is in the log")
	}
}

func TestWebhooksHaveBounds(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	for _, url := range []string{
		"http://shop.example", "https://localhost", "https://127.0.0.1", "https://10.1.2.3/x", "https://[::1]/", "https://169.254.169.254/",
		"ftp://shop.example", "shop.example", "https://u:p@shop.example",
	} {
		p := wantProblem(t, ada.rested().do("POST", "/webhooks", fmt.Sprintf(`{"url":%q}`, url)), http.StatusBadRequest, "validation-failed")
		if len(p.Errors) != 1 || p.Errors[0].Pointer != "#/url" {
			t.Errorf("%s: errors %v, want one for #/url", url, p.Errors)
		}
	}
	for range webhooks.MaxHooks {
		ada.rested().must(http.StatusCreated, "POST", "/webhooks", `{"url":"https://shop.example"}`)
	}
	wantProblem(t, ada.rested().do("POST", "/webhooks", `{"url":"https://shop.example"}`), http.StatusUnprocessableEntity, "too-many-webhooks")

	program := ada
	program.token = ada.rested().must(http.StatusCreated, "POST", "/api-keys", `{"name":"k"}`).text("key")
	program.must(http.StatusOK, "GET", "/webhooks", "")
	wantProblem(t, program.do("POST", "/webhooks", `{"url":"https://shop.example"}`), http.StatusForbidden, "session-required")
	wantProblem(t, program.do("DELETE", noHook, ""), http.StatusForbidden, "session-required")
}

// TestTheEventIsTheTransfer: what a partner is told is what GET /transfers/{id} says.
func TestTheEventIsTheTransfer(t *testing.T) {
	t.Parallel()
	bodies := make(chan []byte, 10)
	partner := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- body
	}))
	defer partner.Close()
	b := openBank(t)
	deps := b.deps
	deps.Webhooks = webhooks.New(b.pool, webhooks.Options{
		Rate: 100, AllowLoopback: true,
		Line: func(perSecond int64, places int) (webhooks.Line, error) {
			return ratelimit.NewShaper(perSecond, time.Second, places)
		},
	})
	b.handler = httpapi.New(deps)
	b.run(func(ctx context.Context) error { return deps.Webhooks.Run(ctx) })
	ada, from, to := b.pair()
	ada.rested().must(http.StatusCreated, "POST", "/webhooks", fmt.Sprintf(`{"url":%q}`, partner.URL))
	sent := ada.rested().transfer("rent", strings.Replace(order(from, to, 125), `"NGN"`, `"NGN","memo":"R&D <é>"`, 1))
	if sent.Status != http.StatusCreated {
		t.Fatal(sent)
	}
	shown := ada.rested().must(http.StatusOK, "GET", "/transfers/"+sent.text("id"), "")
	select {
	case body := <-bodies:
		event := into[struct {
			Type string
			Data json.RawMessage
		}](t, answer{Body: body})
		if got, want := string(event.Data), strings.TrimSpace(string(shown.Body)); got != want || event.Type != "transfer.completed" {
			t.Errorf("told %s, want %s", body, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("not told after 30 s")
	}
}
