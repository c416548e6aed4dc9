package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/bankapi/client"
)

// TestListsAskForPagesAsTheyAreNeeded goes through 7 items in pages of 3.
func TestListsAskForPagesAsTheyAreNeeded(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		start, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		page := map[string]any{"data": []map[string]any{}, "has_more": start+limit < 7}
		for n := start; n < min(start+limit, 7); n++ {
			page["data"] = append(page["data"].([]map[string]any), map[string]any{"sequence": 7 - n})
		}
		if start+limit < 7 {
			page["next_cursor"] = strconv.Itoa(start + limit)
		}
		_ = json.NewEncoder(w).Encode(page)
	}))
	defer server.Close()
	bank := &client.Client{URL: server.URL + "/", PageSize: 3}
	entries := bank.Entries(t.Context(), "acct/1")

	var got []int64
	for e, err := range entries {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Sequence)
	}
	if fmt.Sprint(got) != "[7 6 5 4 3 2 1]" || len(asked) != 3 || asked[2] != "/accounts/acct%2F1/entries?cursor=6&limit=3" {
		t.Errorf("got %v, asked for %q", got, asked)
	}
	asked = nil
	for range entries {
		break
	}
	if len(asked) != 1 {
		t.Errorf("for the first entry: asked for %q", asked)
	}
}

func TestListsEndWithTheirFirstError(t *testing.T) {
	t.Parallel()
	for name, bank := range map[string]*client.Client{
		"a problem":          answers(t, 404, "application/problem+json", `{"type":"/problems/account-not-found"}`),
		"more without where": answers(t, 200, "application/json", `{"data":[],"has_more":true}`),
		"the same again":     answers(t, 200, "application/json", `{"data":[],"has_more":true,"next_cursor":"x"}`),
	} {
		seen := 0
		for _, err := range bank.Accounts(t.Context()) {
			if seen++; err == nil || seen > 1 {
				t.Errorf("%s: item %d, %v", name, seen, err)
			}
		}
	}
}

func TestTransferWithoutAKeyIsNotSent(t *testing.T) {
	t.Parallel()
	bank := &client.Client{HTTP: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
		t.Error("it was sent")
		return nil, errors.New("no")
	})}}
	if _, err := bank.Transfer(t.Context(), "", client.Order{}); err == nil || !strings.Contains(err.Error(), "NewKey") {
		t.Errorf("%v", err)
	}
}

func TestNewKeysDifferAndAreValid(t *testing.T) {
	t.Parallel()
	seen := map[client.Key]bool{}
	for range 1000 {
		key := client.NewKey()
		if seen[key] || len(key) < 22 || strings.ContainsAny(string(key), "\"\\,; /") {
			t.Fatalf("key %q", key)
		}
		seen[key] = true
	}
}

// Settle goes on through whatever leaves a transfer open, with one key and one body, and ends with what decides it.
func TestSettleEndsWhenTheTransferIsDecided(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		last string
		want error
	}{
		{`201 {"id":"tr_1"}`, nil},
		{`422 {"type":"/problems/insufficient-funds"}`, client.ErrInsufficientFunds},
		{`401 {"type":"/problems/invalid-token"}`, client.ErrInvalidToken},
	} {
		synctest.Test(t, func(t *testing.T) {
			lines := []string{
				"lost", "500 ", "502 <html>", `429 {"type":"#quota-exceeded","retryable":true}`, "201 {", `409 {"type":"/problems/idempotency-key-in-use","retryable":true}`,
				"503 ", "lost", "lost", "504 ", tt.last,
			}
			var sent []string
			bank := &client.Client{HTTP: &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
				body, _ := io.ReadAll(req.Body)
				line := lines[len(sent)]
				sent = append(sent, req.Header.Get("Idempotency-Key")+string(body))
				if line == "lost" {
					return nil, io.ErrUnexpectedEOF
				}
				status, _ := strconv.Atoi(line[:3])
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(line[4:])), Request: req}, nil
			})}}
			got, err := bank.Settle(t.Context(), client.NewIntent(client.Order{Amount: 1}))
			if !errors.Is(err, tt.want) || tt.want == nil && (err != nil || got.ID != "tr_1") || len(sent) != len(lines) {
				t.Errorf("%+v, %v after %d tries", got, err, len(sent))
			}
			for _, s := range sent {
				if s != sent[0] || !strings.Contains(s, `"amount":1`) {
					t.Errorf("sent %q, first %q", s, sent[0])
				}
			}
		})
	}
}

func TestSettleLeavesATransferOpenWhenItsTimeIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var mu sync.Mutex
		tries := 0
		bank := &client.Client{HTTP: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			tries++
			return nil, io.ErrUnexpectedEOF
		})}}
		began := time.Now()
		_, err := bank.Settle(ctx, client.Intent{Key: "rent-2026-09"})
		if lost := (*client.LostError)(nil); !errors.As(err, &lost) || !strings.Contains(err.Error(), "rent-2026-09 is still open") {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took > time.Minute || tries < 4 {
			t.Errorf("%d tries in %v", tries, took)
		}
	})
}
