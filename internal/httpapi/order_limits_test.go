package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/httpapi"
)

// left is what GET /limits shows, by policy.
func (c caller) left() map[string]int64 {
	c.t.Helper()
	type row struct {
		Policy    string
		Remaining int64
	}
	rows := into[struct{ Data []row }](c.t, c.must(http.StatusOK, "GET", "/limits", ""))
	left := map[string]int64{}
	for _, r := range rows.Data {
		left[r.Policy] = r.Remaining
	}
	return left
}

// TestAReplayCostsAsAGet is CASES 20.
func TestAReplayCostsAsAGet(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, from, to := b.pair()
	daily := ada.left()["daily"]
	first := ada.must(http.StatusCreated, "POST", "/transfers", order(from, to, 1), "Idempotency-Key", "k")
	wantHeader(t, first, "RateLimit", fmt.Sprintf(`"user";r=5;t=3, "transfers-account";r=29;t=60, "ip";r=298;t=3, "daily";r=%d;t=39600`, daily-1))
	for _, left := range []int64{4, 3} { // not 0, and not refused for want of 5
		if ada.left()["user"] < 5 {
			b.clock.Advance(500 * time.Millisecond)
			left++
		}
		replay := ada.must(http.StatusCreated, "POST", "/transfers", order(from, to, 1), "Idempotency-Key", "k")
		wantHeader(t, replay, "Idempotent-Replayed", "true")
		wantHeader(t, replay, "X-RateLimit-Remaining", fmt.Sprint(left))
		if got := ada.left()["user"]; got != left {
			t.Errorf("user has %d left after a replay, want %d", got, left)
		}
	}
	if got := ada.left()["daily"]; got != daily-3 {
		t.Errorf("daily has %d left, want %d: one for each request", got, daily-3)
	}
	b.clock.Advance(5 * time.Second)
	next := ada.must(http.StatusCreated, "POST", "/transfers", order(from, to, 1), "Idempotency-Key", "l")
	if !strings.Contains(next.Header.Get("RateLimit"), `"transfers-account";r=28`) {
		t.Errorf("got %s, want the account to have counted two transfers", next.Header.Get("RateLimit"))
	}
}

// fewTransfers is a bank in which an account may send twice a minute and users as often as they like.
func fewTransfers(t *testing.T) *bank {
	return openBank(t, func(d *httpapi.Deps) { d.Limits = limits(t, "quota: 30, period: 1m", "quota: 2, period: 1m") })
}

func TestTransfersOutOfOneAccountAreLimited(t *testing.T) {
	t.Parallel()
	b := fewTransfers(t)
	ada, from, to := b.pair()
	for i := range 2 {
		ada.must(http.StatusCreated, "POST", "/transfers", order(from, to, 1), "Idempotency-Key", fmt.Sprint("k", i))
		b.clock.Advance(5 * time.Second)
	}
	before := ada.left()
	refused := ada.transfer("k2", order(from, to, 1))
	p := wantProblem(t, refused, http.StatusTooManyRequests, "#quota-exceeded")
	if diff := cmp.Diff([]string{"transfers-account"}, p.Violated); diff != "" {
		t.Error(diff)
	}
	wantHeader(t, refused, "Retry-After", "50")
	wantHeader(t, refused, "RateLimit", `"transfers-account";r=0;t=50`)
	wantHeader(t, refused, "RateLimit-Policy", `"transfers-account";q=2;w=60, "user";q=10;w=5, "ip";q=300;w=3, "daily";q=10000;w=86400`)
	if after := ada.left(); after["user"] != before["user"] || after["daily"] != before["daily"] {
		t.Errorf("a refused transfer was charged: %v, then %v", before, after)
	}
	ada.must(http.StatusCreated, "POST", "/transfers", order(to, from, 1), "Idempotency-Key", "other") // another account

	b.clock.Advance(50 * time.Second)
	again := ada.must(http.StatusCreated, "POST", "/transfers", order(from, to, 1), "Idempotency-Key", "k2")
	wantHeader(t, again, "Idempotent-Replayed", "")
}

// TestOnlyWhatTheLedgerDecidedCountsForAnAccount: a refusal under the lock does, a request that never got there does not.
func TestOnlyWhatTheLedgerDecidedCountsForAnAccount(t *testing.T) {
	t.Parallel()
	b := fewTransfers(t)
	ada, from, to := b.pair()
	mallory, _, _ := b.pair()
	for i := range 4 {
		b.clock.Advance(5 * time.Second)
		wantProblem(t, ada.transfer(fmt.Sprint("nobody", i), order(from, "acct_"+strings.Repeat("0", 26), 1)), 422, "recipient-not-found")
		wantProblem(t, mallory.transfer(fmt.Sprint("k", i), order(from, to, 1)), http.StatusNotFound, "account-not-found")
	}
	for i := range 2 {
		b.clock.Advance(5 * time.Second)
		wantProblem(t, ada.transfer(fmt.Sprint("rich", i), order(from, to, 1_000_000)), 422, "insufficient-funds")
	}
	b.clock.Advance(5 * time.Second)
	wantProblem(t, ada.transfer("k", order(from, to, 1)), http.StatusTooManyRequests, "#quota-exceeded")
}

func TestTooManyTransfersOfEverybodyAreTheBanksFault(t *testing.T) {
	t.Parallel()
	b := openBank(t, func(d *httpapi.Deps) {
		d.Limits = limits(t, "quota: 12000, period: 1s, burst: 12000", "quota: 1, period: 8s, burst: 1")
	})
	ada, from, to := b.pair()
	grace, hers, _ := b.pair()
	first := ada.must(http.StatusCreated, "POST", "/transfers", order(from, to, 1), "Idempotency-Key", "k")
	if strings.Contains(first.Header.Get("RateLimit-Policy"), "global") {
		t.Errorf("what others have left shows: %s", first.Header.Get("RateLimit-Policy"))
	}
	before := grace.left()
	refused := grace.transfer("k", order(hers, to, 1))
	p := wantProblem(t, refused, http.StatusServiceUnavailable, "#temporary-reduced-capacity")
	if diff := cmp.Diff([]string{"global-transfers"}, p.Violated); diff != "" {
		t.Error(diff)
	}
	wantHeader(t, refused, "Retry-After", "8")
	wantHeader(t, refused, "X-RateLimit-Remaining", "10")
	if after := grace.left(); after["user"] != before["user"] || after["daily"] != before["daily"] {
		t.Errorf("a refused transfer was charged: %v, then %v", before, after)
	}
	b.clock.Advance(8 * time.Second)
	again := grace.must(http.StatusCreated, "POST", "/transfers", order(hers, to, 1), "Idempotency-Key", "k")
	if !strings.Contains(again.Header.Get("RateLimit"), `"transfers-account";r=29`) {
		t.Errorf("the refused one was counted for the account: %s", again.Header.Get("RateLimit"))
	}
}
