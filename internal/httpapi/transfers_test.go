package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/httpapi"
	"example.com/bankapi/internal/transfers"
)

// pair is a user with two NGN accounts of 100,000 each.
func (b *bank) pair() (ada caller, from, to string) {
	b.t.Helper()
	ada = b.somebody()
	from, to = ada.openAccount("NGN"), ada.openAccount("NGN")
	return ada.rested(), from, to
}

func TestAmountsAreRefusedWithAPointer(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, from, to := b.pair()
	for _, amount := range []string{
		"0", "-1", "-0", "1.5", "1.0", "1e2", `"100"`, `""`, "null", "true", "[]", "007", "9223372036854775808", "1" + strings.Repeat("0", 30), "",
	} {
		body := fmt.Sprintf(`{"from_account":%q,"to_account":%q,"amount":%s,"currency":"NGN"}`, from, to, amount)
		if amount == "" {
			body = fmt.Sprintf(`{"from_account":%q,"to_account":%q,"currency":"NGN"}`, from, to)
		}
		got := ada.rested().transfer("same-key", body)
		p := into[problem](t, got)
		if got.Status != http.StatusBadRequest || len(p.Errors) != 1 || p.Errors[0].Pointer != "#/amount" {
			t.Errorf("amount %q: got %s, want 400 at #/amount", amount, got)
		}
	}
	first := ada.rested().transfer("same-key", order(from, to, 1)) // none of it used the key up
	if first.Status != http.StatusCreated || first.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("first well-formed body: %s", first)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, from, to := b.pair()
	grace, hers, _ := b.pair()
	euros := ada.openAccount("EUR")
	nowhere := "acct_" + strings.Repeat("0", 26)
	for _, test := range []struct {
		body   string
		status int
		slug   string
	}{
		{order(from, from, 1), 422, "same-account"},
		{order(from, nowhere, 1), 422, "recipient-not-found"},
		{order(nowhere, to, 1), 404, "account-not-found"},
		{order(hers, to, 1), 404, "account-not-found"},
		{order(from, euros, 1), 422, "currency-mismatch"},
		{order(euros, from, 1), 422, "currency-mismatch"},
		{order(from, to, 100_001), 422, "insufficient-funds"},
		{order("acct_x", to, 1), 400, "validation-failed"},
		{order(from, strings.ToUpper(to), 1), 400, "validation-failed"},
		{strings.TrimSuffix(order(from, to, 1), "}") + `,"memo":"` + strings.Repeat("m", 141) + `"}`, 400, "validation-failed"},
		{strings.TrimSuffix(order(from, to, 1), "}") + `,"memo":"\u0000"}`, 400, "malformed-body"},
		{strings.TrimSuffix(order(from, to, 1), "}") + `,"extra":1}`, 400, "validation-failed"},
		{"", 415, "about:blank"},
		{strings.Repeat(" ", 64<<10) + order(from, to, 1), 413, "about:blank"},
	} {
		got := ada.rested().transfer("key-of-"+test.slug+fmt.Sprint(len(test.body)), test.body)
		wantProblem(t, got, test.status, test.slug)
	}
	ada.rested()
	wantProblem(t, ada.do("POST", "/transfers", order(from, to, 1)), 400, "idempotency-key-missing")
	wantProblem(t, ada.transfer("a b", order(from, to, 1)), 400, "idempotency-key-invalid")
	twice := ada.rested().request("POST", "/transfers", strings.NewReader(order(from, to, 1)), "Idempotency-Key", "k")
	twice.Header.Add("Idempotency-Key", "l")
	wantProblem(t, ada.send(twice), 400, "idempotency-key-invalid")
	both := ada.request("GET", "/me", nil)
	both.Header.Add("Authorization", "Bearer x")
	wantProblem(t, ada.send(both), 400, "two-credentials")

	hersID, err := transfers.ParseAccountID(hers)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.deps.Transfers.SetStatus(context.Background(), hersID, transfers.Frozen); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, ada.rested().transfer("frozen-1", order(from, hers, 1)), 422, "recipient-frozen")
	wantProblem(t, grace.rested().transfer("frozen-2", order(hers, from, 1)), 422, "account-frozen")
}

func TestRefusalUnderTheLockIsTheKeysAnswer(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, from, to := b.pair()
	refused := ada.transfer("rent", order(from, to, 150_000))
	wantProblem(t, refused, 422, "insufficient-funds")
	ada.rested().transfer("top-up", order(to, from, 60_000))
	again := ada.rested().transfer("rent", order(from, to, 150_000))
	if again.Status != 422 || string(again.Body) != string(refused.Body) {
		t.Errorf("after the top-up: %s, want the same bytes as %s", again, refused)
	}
	wantHeader(t, again, "Idempotent-Replayed", "true")
	if got := ada.rested().transfer("rent-2", order(from, to, 150_000)); got.Status != 201 {
		t.Errorf("a new key after the top-up: %s", got)
	}
}

func TestAnotherBodyUnderAKeyIsNamedFieldByField(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, from, to := b.pair()
	first := ada.transfer("rent", order(from, to, 10))
	other := fmt.Sprintf(`{"from_account":%q,"to_account":%q,"amount":11,"currency":"NGN","memo":"x"}`, from, to)
	p := wantProblem(t, ada.rested().transfer("rent", other), 422, "idempotency-key-reused")
	var names []string
	for _, e := range p.Errors {
		names = append(names, e.Pointer)
	}
	if diff := cmp.Diff([]string{"#/amount", "#/memo"}, names); diff != "" {
		t.Error(diff)
	}
	if got := ada.rested().transfer("rent", order(from, to, 10)); string(got.Body) != string(first.Body) {
		t.Errorf("the first body after the refused one: %s, want %s", got, first)
	}
	grace, hers, _ := b.pair()
	if got := grace.transfer("rent", order(hers, from, 11)); got.Status != 201 {
		t.Errorf("another user's same key: %s", got)
	}
}

func TestParallelRequestsWithOneKeyMoveMoneyOnce(t *testing.T) {
	t.Parallel()
	b := openBank(t, func(d *httpapi.Deps) {
		d.Limits = limits(t, "burst: 10,", "burst: 1000,", "transfers-account: { algorithm: sliding-log, quota: 30", "transfers-account: { algorithm: sliding-log, quota: 1000")
	})
	ada, from, to := b.pair()
	var firsts, repeats atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			switch got := ada.transfer("rent", order(from, to, 10)); {
			case got.Status == 201 && got.Header.Get("Idempotent-Replayed") == "":
				firsts.Add(1)
			case got.Status == 201 || got.Status == 409:
				repeats.Add(1)
			default:
				t.Error(got)
			}
		})
	}
	wg.Wait()
	if firsts.Load() != 1 || repeats.Load() != 49 {
		t.Errorf("%d first answers and %d repeats, want 1 and 49", firsts.Load(), repeats.Load())
	}
	got := into[struct{ Balance int64 }](t, ada.must(200, "GET", "/accounts/"+from, ""))
	if got.Balance != 99_990 {
		t.Errorf("balance %d, want 99990", got.Balance)
	}
}
