package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/httpapi"
	"example.com/bankapi/internal/openapitest"
)

// openBankWithMail is openBank; the tokens that are mailed come out of the channel.
func openBankWithMail(t *testing.T) (*bank, <-chan auth.Reset) {
	t.Helper()
	mails := make(chan auth.Reset, 10)
	b := openBank(t)
	b.deps.Auth = auth.New(b.pool, auth.Options{
		Hash:      auth.HashParams{MemoryKiB: 64, Passes: 1, Threads: 1},
		MailReset: func(_ context.Context, r auth.Reset) error { mails <- r; return nil },
	})
	b.run(b.deps.Auth.SendResets)
	b.handler = httpapi.New(b.deps)
	return b, mails
}

func resetOf(email string) string { return fmt.Sprintf(`{"email":%q}`, email) }

func confirmation(token, password string) string {
	return fmt.Sprintf(`{"token":%q,"password":%q}`, token, password)
}

func TestAForgottenPasswordIsReset(t *testing.T) {
	t.Parallel()
	b, mails := openBankWithMail(t)
	ada := b.somebody()
	c := b.from("198.51.100.7")
	c.must(http.StatusAccepted, "POST", "/password-resets", resetOf(" "+strings.ToUpper(ada.email)))
	mail := <-mails
	if mail.Email != ada.email {
		t.Errorf("the mail went to %s", mail.Email)
	}
	wantProblem(t, c.do("POST", "/password-resets/confirm", confirmation(mail.Token, "short")), http.StatusBadRequest, "weak-password")
	const changed = "a-quite-different-battery-staple"
	c.must(http.StatusNoContent, "POST", "/password-resets/confirm", confirmation(mail.Token, changed))
	for _, token := range []string{mail.Token, "bank_reset_x", "x"} {
		wantProblem(t, c.do("POST", "/password-resets/confirm", confirmation(token, changed)), http.StatusUnprocessableEntity, "reset-token-invalid")
	}
	wantProblem(t, ada.do("GET", "/me", ""), http.StatusUnauthorized, "invalid-token")
	wantProblem(t, c.do("POST", "/sessions", credentials(ada.email, password)), http.StatusUnauthorized, "bad-credentials")
	c.must(http.StatusCreated, "POST", "/sessions", credentials(ada.email, changed))
	if strings.Contains(b.log.String(), mail.Token) {
		t.Error("the token is in the log")
	}
}

// TestResetsTellNothing: known and unknown addresses get the same answers, limits included, and no look-up is waited for.
func TestResetsTellNothing(t *testing.T) {
	t.Parallel()
	b, _ := openBankWithMail(t)
	known := b.somebody()
	var answers []string
	for i, email := range []string{known.email, "nobody@example.com"} {
		c := b.from(fmt.Sprintf("198.51.100.%d", i))
		var got string
		for range 3 {
			accepted := c.must(http.StatusAccepted, "POST", "/password-resets", resetOf(email))
			wantHeader(t, accepted, "RateLimit-Policy", `"anonymous";q=20;w=4, "ip";q=300;w=3`)
			got += string(accepted.Body)
		}
		refused := c.do("POST", "/password-resets", resetOf(email))
		p := wantProblem(t, refused, http.StatusTooManyRequests, "#quota-exceeded")
		wantHeader(t, refused, "Retry-After", "3600")
		answers = append(answers, fmt.Sprint(got, p))
	}
	if answers[0] != answers[1] {
		t.Errorf("answers differ:\n%s\n%s", answers[0], answers[1])
	}
	b.pool.Close()
	b.from("198.51.100.9").must(http.StatusAccepted, "POST", "/password-resets", resetOf("somebody@example.com"))
}

func TestResetsWhenThingsBreak(t *testing.T) {
	t.Parallel()
	b, mails := openBankWithMail(t)
	ada := b.somebody()
	ada.must(http.StatusAccepted, "POST", "/password-resets", resetOf(ada.email))
	confirm := confirmation((<-mails).Token, "a-quite-different-battery-staple")
	hurried := b.deps
	hurried.Timeout = time.Nanosecond
	b.handler = httpapi.New(hurried)
	got := ada.send(ada.request("POST", "/password-resets/confirm", strings.NewReader(confirm)), openapitest.LimitsUnknown)
	if got.Status != http.StatusServiceUnavailable {
		t.Errorf("without time: %s, want 503", got)
	}
	b.handler = httpapi.New(b.deps)

	idle := auth.New(b.pool, auth.Options{}) // nobody empties its queue
	for idle.RequestReset("nobody@example.com") == nil {
	}
	full := b.deps
	full.Auth = idle
	b.handler = httpapi.New(full)
	for range 5 { // given back: not the fourth in an hour
		got := ada.rested().do("POST", "/password-resets", resetOf("grace@example.com"))
		wantProblem(t, got, http.StatusServiceUnavailable, "#temporary-reduced-capacity")
	}
	if !strings.Contains(b.log.String(), `"error":"too many password resets wait for their mail"`) {
		t.Error("the log does not know of the full queue")
	}
	b.handler = httpapi.New(b.deps)
	b.pool.Close()
	wantProblem(t, ada.do("POST", "/password-resets/confirm", confirm), http.StatusInternalServerError, "about:blank")

	ada.flood(21, "GET", "/rates")
	for path, body := range map[string]string{"/password-resets": resetOf(ada.email), "/password-resets/confirm": confirm} {
		p := wantProblem(t, ada.do("POST", path, body), http.StatusTooManyRequests, "#quota-exceeded")
		if len(p.Violated) != 1 || p.Violated[0] != "anonymous" {
			t.Errorf("%s: violated %v, want anonymous", path, p.Violated)
		}
	}
}
