package httpapi_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestFiftyParallelGuessesReachTheHashFiveTimes(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	var judged, limited atomic.Int64
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			c := b.from(fmt.Sprintf("198.51.100.%d", i))
			switch got := c.do("POST", "/sessions", credentials(ada.email, "not-the-right-password")); got.Status {
			case http.StatusUnauthorized:
				judged.Add(1)
			case http.StatusTooManyRequests:
				limited.Add(1)
			default:
				t.Errorf("wrong password: %s", got)
			}
		})
	}
	wg.Wait()
	if judged.Load() != 5 || limited.Load() != 45 {
		t.Errorf("%d guesses judged, %d limited; want 5 and 45", judged.Load(), limited.Load())
	}
}

func TestOnlyFailedLogInsCount(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada := b.somebody()
	c := b.from("198.51.100.7")
	guess := func(email string) answer {
		return c.do("POST", "/sessions", credentials(email, "not-the-right-password"))
	}

	for range 4 {
		wantProblem(t, guess(ada.email), http.StatusUnauthorized, "bad-credentials")
	}
	for range 10 {
		c.must(http.StatusCreated, "POST", "/sessions", credentials(ada.email, password))
	}
	wantProblem(t, guess(ada.email), http.StatusUnauthorized, "bad-credentials") // successes did not clear the four

	b.clock.Advance(time.Minute)
	for range 3 { // refused tries do not prolong the wait
		refused := c.do("POST", "/sessions", credentials(ada.email, password))
		p := wantProblem(t, refused, http.StatusTooManyRequests, "#quota-exceeded")
		if len(p.Violated) != 1 || p.Violated[0] != "login-account" {
			t.Errorf("violated: %v, want login-account", p.Violated)
		}
		wantHeader(t, refused, "Retry-After", "840")
	}
	b.clock.Advance(14 * time.Minute)
	c.must(http.StatusCreated, "POST", "/sessions", credentials(ada.email, password))
}

func TestSpellingsOfAnAddressAreOneKeyAndStrangersLookAlike(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	known := b.somebody()
	for n, email := range []string{known.email, "nobody@example.com"} {
		c := b.from(fmt.Sprintf("198.51.100.%d", n))
		var bodies []string
		for i, spelling := range []string{email, " " + email, email + " ", "\uff35\uff33\uff25\uff321@example.com", "USER1@EXAMPLE.COM"} {
			if n == 1 {
				spelling = []string{email, " " + email, "NOBODY@example.com", "Nobody@Example.com", email}[i]
			}
			got := c.do("POST", "/sessions", credentials(spelling, "not-the-right-password"))
			p := wantProblem(t, got, http.StatusUnauthorized, "bad-credentials")
			bodies = append(bodies, p.Detail)
		}
		if bodies[0] != "No user has this e-mail address and this password." {
			t.Errorf("detail %q tells more than it should", bodies[0])
		}
		wantProblem(t, c.do("POST", "/sessions", credentials(email, password)), http.StatusTooManyRequests, "#quota-exceeded")
	}
}

func TestGuessingManyAccountsFromOneAddress(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	c := b.from("198.51.100.7")
	for i := range 20 {
		got := c.do("POST", "/sessions", credentials(fmt.Sprintf("victim%d@example.com", i), "not-the-right-password"))
		wantProblem(t, got, http.StatusUnauthorized, "bad-credentials")
	}
	got := c.do("POST", "/sessions", credentials("victim20@example.com", "not-the-right-password"))
	p := wantProblem(t, got, http.StatusTooManyRequests, "#quota-exceeded")
	if len(p.Violated) != 1 || p.Violated[0] != "login-ip" {
		t.Errorf("violated: %v, want login-ip", p.Violated)
	}
}

func TestSignUpsAreCounted(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	c := b.from("198.51.100.7")
	sign := func(email, secret string) answer {
		b.clock.Advance(time.Second) // the anonymous policy is not what this is about
		return c.do("POST", "/users", credentials(email, secret))
	}
	for range 25 { // these never reach the hash
		wantProblem(t, sign("x@example.com", "short"), http.StatusBadRequest, "weak-password")
	}
	for i := range 19 {
		if got := sign(fmt.Sprintf("n%d@example.com", i), password); got.Status != http.StatusCreated {
			t.Fatal(got)
		}
	}
	wantProblem(t, sign("N1@example.com", password), http.StatusConflict, "email-taken")
	p := wantProblem(t, sign("n20@example.com", password), http.StatusTooManyRequests, "#quota-exceeded")
	if len(p.Violated) != 1 || p.Violated[0] != "signup-ip" {
		t.Errorf("violated: %v, want signup-ip", p.Violated)
	}
}
