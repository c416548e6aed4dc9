package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWeightedServer is the lesson's figure G5 through the real handler: a bucket of 10 at 2/s, a transfer costs 5.
func TestWeightedServer(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	payroll, ada := b.somebody(), b.somebody()
	from, to := payroll.openAccount("NGN"), ada.openAccount("NGN")
	ada.must(http.StatusOK, "GET", "/me", "")
	payroll.rested()

	for n, want := range []int{5, 0} {
		got := payroll.transfer(fmt.Sprint("pay-", n), order(from, to, 1))
		if got.Status != http.StatusCreated {
			t.Fatalf("transfer %d: %s", n, got)
		}
		wantHeader(t, got, "X-RateLimit-Remaining", fmt.Sprint(want))
	}
	refused := payroll.transfer("pay-2", order(from, to, 1))
	p := wantProblem(t, refused, http.StatusTooManyRequests, "#quota-exceeded")
	if diff := cmp.Diff([]string{"user"}, p.Violated); diff != "" {
		t.Error(diff)
	}
	wantHeader(t, refused, "Retry-After", "3")
	wantHeader(t, refused, "RateLimit", `"user";r=0;t=3`)
	wantHeader(t, refused, "RateLimit-Policy", `"user";q=10;w=5, "ip";q=300;w=3, "daily";q=10000;w=86400`)
	wantHeader(t, refused, "X-RateLimit-Limit", "10")
	wantHeader(t, refused, "X-RateLimit-Remaining", "0")

	read := ada.must(http.StatusOK, "GET", "/accounts", "")
	wantHeader(t, read, "RateLimit", `"user";r=9;t=5, "ip";r=299;t=3, "daily";r=9997;t=39600`)
	wantHeader(t, read, "X-RateLimit-Remaining", "9")

	b.clock.Advance(2 * time.Second)
	refused = payroll.transfer("pay-2", order(from, to, 1))
	wantProblem(t, refused, http.StatusTooManyRequests, "#quota-exceeded")
	wantHeader(t, refused, "Retry-After", "1")
	b.clock.Advance(500 * time.Millisecond)
	first := payroll.transfer("pay-2", order(from, to, 1))
	if first.Status != http.StatusCreated || first.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the refused key after waiting: %s, want its first execution", first)
	}
}

// TestColleaguesBehindOneAddress is G4, layered as we do it: an office passes, made-up tokens do not.
func TestColleaguesBehindOneAddress(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	var office []caller
	for range 30 {
		c := b.somebody()
		c.must(http.StatusOK, "GET", "/me", "")
		c.address = "102.89.4.17"
		office = append(office, c)
	}
	b.clock.Advance(time.Hour)
	for _, c := range office {
		for range 2 {
			c.must(http.StatusOK, "GET", "/accounts", "")
		}
	}
	attacker := b.from("198.51.100.66")
	unauthorized, limited := 0, 0
	for i := range 60 {
		attacker.token = fmt.Sprintf("bank_key_%036d", i)
		switch got := attacker.do("GET", "/accounts", ""); got.Status {
		case http.StatusUnauthorized:
			unauthorized++
		case http.StatusTooManyRequests:
			limited++
			wantHeader(t, got, "RateLimit", `"anonymous";r=0;t=1`)
		default:
			t.Fatal(got)
		}
	}
	if unauthorized != 20 || limited != 40 {
		t.Errorf("made-up tokens: %d looked at, %d limited; want 20 and 40", unauthorized, limited)
	}
}

func TestStrangersAreChargedAndMembersAreNot(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	for range 30 { // more than the anonymous policy has
		ada.rested().must(http.StatusOK, "GET", "/me", "")
	}
	stranger := b.from("198.51.100.7")
	for i := range 20 {
		got := stranger.do("GET", "/me", "")
		wantProblem(t, got, http.StatusUnauthorized, "credentials-missing")
		wantHeader(t, got, "WWW-Authenticate", `Bearer realm="bankapi"`)
		wantHeader(t, got, "X-RateLimit-Remaining", fmt.Sprint(19-i))
	}
	wantProblem(t, stranger.do("GET", "/me", ""), http.StatusTooManyRequests, "#quota-exceeded")
	wantProblem(t, stranger.do("GET", "/rates", ""), http.StatusTooManyRequests, "#quota-exceeded")

	ada.address = stranger.address // a known token passes where strangers are refused
	ada.must(http.StatusOK, "GET", "/me", "")
	unknown := ada
	unknown.token = "bank_sess_" + fmt.Sprintf("%036d", 1)
	wantProblem(t, unknown.do("GET", "/me", ""), http.StatusTooManyRequests, "#quota-exceeded")
}

func TestStrangersSeeOnlyLimitsOfTheirAddress(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	c := b.from("198.51.100.7")
	wrong := c.do("POST", "/sessions", credentials("ada@example.com", "not-the-right-password"))
	wantProblem(t, wrong, http.StatusUnauthorized, "bad-credentials")
	wantHeader(t, wrong, "RateLimit-Policy", `"login-ip";q=20;w=900, "ip";q=300;w=3`)
	wantHeader(t, c.do("GET", "/me", ""), "RateLimit-Policy", `"anonymous";q=20;w=4, "ip";q=300;w=3`)
	wantHeader(t, c.do("GET", "/nothing-here", ""), "RateLimit-Policy", `"ip";q=300;w=3`)
}

func TestLimitsShowEveryPolicyAndCostNothing(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	ada.must(http.StatusOK, "GET", "/me", "")
	type row struct {
		Policy    string
		Remaining int
	}
	want := []row{{"user", 9}, {"daily", 9999}, {"ip", 295}, {"anonymous", 19}, {"signup-ip", 19}, {"login-account", 5}, {"login-ip", 20}, {"password-reset-email", 3}}
	for i := range 3 {
		want[2].Remaining = 296 - i
		got := into[struct{ Data []row }](t, ada.must(http.StatusOK, "GET", "/limits", ""))
		if diff := cmp.Diff(want, got.Data); diff != "" {
			t.Error(diff)
		}
	}
}
