package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const newPassword = "a-quite-different-battery-staple"

// postbox is where the mails of a harness arrive.
type postbox struct {
	mails chan Reset
	fail  atomic.Int64 // so many next tries fail
	tries atomic.Int64
}

// mailing runs SendResets until the test ends.
func (h *harness) mailing(t *testing.T) *postbox {
	t.Helper()
	box := &postbox{mails: make(chan Reset, resetQueue)}
	h.resetRetryIn = time.Millisecond
	h.mailReset = func(_ context.Context, r Reset) error {
		box.tries.Add(1)
		if box.fail.Add(-1) >= 0 {
			return errors.New("421 try again later")
		}
		box.mails <- r
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.SendResets(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("SendResets: %v", err)
		}
	})
	return box
}

func (b *postbox) next(t *testing.T) Reset {
	t.Helper()
	select {
	case r := <-b.mails:
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("no mail after 20 s")
		return Reset{}
	}
}

func (h *harness) mustRequestReset(t *testing.T, email string) {
	t.Helper()
	if err := h.RequestReset(email); err != nil {
		t.Fatalf("RequestReset(%q): %v", email, err)
	}
}

func TestResetSetsThePasswordAndEndsEverySession(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	other := onPool(h.pool, h.clock) // one more instance
	h.listen(t)
	other.listen(t)
	box := h.mailing(t)
	h.mustSignUp(t, "ada@example.com")
	h.mustSignUp(t, "grace@example.com")
	first, second, grace := h.mustLogIn(t, "ada@example.com"), other.mustLogIn(t, "ada@example.com"), h.mustLogIn(t, "grace@example.com")
	key := func() string {
		_, secret, err := h.CreateAPIKey(t.Context(), h.mustAuthenticate(t, first.Token), "k")
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}()
	for _, token := range []string{first.Token, second.Token} {
		h.mustAuthenticate(t, token)
		other.mustAuthenticate(t, token)
	}

	h.mustRequestReset(t, " ADA@example.com")
	mail := box.next(t)
	if mail.Email != "ada@example.com" || !strings.HasPrefix(mail.Token, "bank_reset_") || !mail.ExpiresAt.Equal(h.clock.now().Add(ResetLifetime)) {
		t.Errorf("the mail is %+v", mail)
	}
	if err := h.ConfirmReset(t.Context(), mail.Token, newPassword); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{first.Token, second.Token} {
		if _, err := h.Authenticate(t.Context(), token); !errors.Is(err, ErrInvalidToken) {
			t.Errorf("a session of before the reset: %v, want ErrInvalidToken", err)
		}
		eventually(t, "end of the session on the other instance", func() bool {
			_, err := other.Authenticate(t.Context(), token)
			return errors.Is(err, ErrInvalidToken)
		})
	}
	h.mustAuthenticate(t, grace.Token)
	h.mustAuthenticate(t, key)
	if _, err := h.LogIn(t.Context(), "ada@example.com", password); !errors.Is(err, ErrBadCredentials) {
		t.Errorf("the old password: %v, want ErrBadCredentials", err)
	}
	if _, err := h.LogIn(t.Context(), "ada@example.com", newPassword); err != nil {
		t.Errorf("the new password: %v", err)
	}
}

func TestResetTokensAreGoodOnceAndForHalfAnHour(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	box := h.mailing(t)
	h.mustSignUp(t, "ada@example.com")
	take := func() string {
		h.mustRequestReset(t, "ada@example.com")
		return box.next(t).Token
	}
	confirm := func(token, password string) error { return h.ConfirmReset(t.Context(), token, password) }

	one, two := take(), take()
	for _, weak := range []string{"short", "ada@example.com", strings.Repeat("x", 200)} {
		if err := confirm(one, weak); !errors.Is(err, ErrWeakPassword) {
			t.Errorf("password %q: %v, want ErrWeakPassword", weak, err)
		}
	}
	if err := confirm(one, newPassword); err != nil {
		t.Errorf("after a weak password: %v", err)
	}
	for _, token := range []string{one, two} {
		if err := confirm(token, newPassword); !errors.Is(err, ErrInvalidReset) {
			t.Errorf("after a reset: %v, want ErrInvalidReset: it spends all of the user's tokens", err)
		}
	}

	late := take()
	h.clock.advance(ResetLifetime)
	runs := h.runs.Load()
	if err := confirm(late, newPassword); !errors.Is(err, ErrInvalidReset) {
		t.Errorf("after half an hour: %v, want ErrInvalidReset", err)
	}
	for _, bad := range []string{"", "bank_reset_", h.mustLogInWith(t, "ada@example.com", newPassword).Token, mint(resetPrefix), late + "0", late[:20]} {
		if err := confirm(bad, newPassword); !errors.Is(err, ErrInvalidReset) {
			t.Errorf("token %q: %v, want ErrInvalidReset", bad, err)
		}
	}
	if n := h.runs.Load() - runs; n != 1 { // the log-in
		t.Errorf("%d passwords hashed, want none for bad tokens", n-1)
	}
	if n, err := h.PurgeResets(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("purged %d, %v; want 1", n, err)
	}
}

func (h *harness) mustLogInWith(t *testing.T, email, password string) LogIn {
	t.Helper()
	in, err := h.LogIn(t.Context(), email, password)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestAResetTokenIsNoCredential(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	if _, err := h.Authenticate(t.Context(), mint(resetPrefix)); !errors.Is(err, ErrInvalidToken) {
		t.Errorf("got %v, want ErrInvalidToken", err)
	}
}

func TestParallelConfirmationsOfOneTokenSetOnePassword(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	box := h.mailing(t)
	h.mustSignUp(t, "ada@example.com")
	for range 2 {
		h.mustRequestReset(t, "ada@example.com")
	}
	tokens := []string{box.next(t).Token, box.next(t).Token}
	var set atomic.Int64
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			switch err := h.ConfirmReset(t.Context(), tokens[i%2], fmt.Sprintf("%s-%d", newPassword, i)); {
			case err == nil:
				set.Add(1)
			case !errors.Is(err, ErrInvalidReset):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if set.Load() != 1 {
		t.Errorf("%d confirmations succeeded, want 1", set.Load())
	}
}

// TestALogInUnderWayDoesNotOutliveItsPassword resets the password between a log-in's verification and its session.
func TestALogInUnderWayDoesNotOutliveItsPassword(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	box := h.mailing(t)
	user := h.mustSignUp(t, "ada@example.com")
	_, verified, err := h.findLogin(t.Context(), "ada@example.com")
	if err != nil {
		t.Fatal(err)
	}
	h.mustRequestReset(t, "ada@example.com")
	if err := h.ConfirmReset(t.Context(), box.next(t).Token, newPassword); err != nil {
		t.Fatal(err)
	}
	if _, err := h.openSession(t.Context(), user, verified); !errors.Is(err, ErrBadCredentials) {
		t.Errorf("a session for the old password: %v, want ErrBadCredentials", err)
	}
	if n := count(t, h.pool, "sessions"); n != 0 {
		t.Errorf("%d sessions, want 0", n)
	}
}

func TestStrangersGetNoMailAndNobodyLearnsIt(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	box := h.mailing(t)
	h.mustSignUp(t, "ada@example.com")
	before := h.pool.Stat().AcquireCount()
	if err := h.RequestReset("nobody@example.com"); err != nil {
		t.Error(err)
	}
	if err := h.RequestReset("no address"); !errors.Is(err, ErrInvalidEmail) {
		t.Errorf("got %v, want ErrInvalidEmail", err)
	}
	eventually(t, "look-up in the background", func() bool { return h.pool.Stat().AcquireCount() > before })
	h.mustRequestReset(t, "ada@example.com")
	if mail := box.next(t); mail.Email != "ada@example.com" {
		t.Errorf("a mail to %s", mail.Email)
	}
	if n := count(t, h.pool, "password_resets"); n != 1 {
		t.Errorf("%d tokens, want 1", n)
	}
	if strings.Contains(h.log.String(), "nobody@example.com") {
		t.Error("the log tells who is no customer")
	}
}

func TestMailIsTriedAgainAndNotForEver(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	box := h.mailing(t)
	h.mustSignUp(t, "ada@example.com")
	box.fail.Store(2)
	h.mustRequestReset(t, "ada@example.com")
	token := box.next(t).Token
	if n := box.tries.Load(); n != 3 {
		t.Errorf("%d tries, want 3", n)
	}
	box.fail.Store(3)
	h.mustRequestReset(t, "ada@example.com")
	eventually(t, "warning", func() bool { return strings.Contains(h.log.String(), "password reset not sent") })
	if log := h.log.String(); strings.Contains(log, "bank_reset_") || strings.Contains(log, token) {
		t.Errorf("a token is in the log: %s", log)
	}
}

func TestTheQueueOfResetsIsBoundedAndDrained(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	sent := 0
	var mu sync.Mutex
	h.mailReset = func(context.Context, Reset) error {
		mu.Lock()
		defer mu.Unlock()
		sent++
		return nil
	}
	for range 3 {
		h.mustRequestReset(t, "ada@example.com")
	}
	for range resetQueue - 3 {
		h.mustRequestReset(t, "nobody@example.com")
	}
	if err := h.RequestReset("ada@example.com"); !errors.Is(err, ErrTooManyResets) {
		t.Errorf("with a full queue: %v, want ErrTooManyResets", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := h.SendResets(ctx); err != nil {
		t.Fatal(err)
	}
	if sent != 3 || len(h.resets) != 0 {
		t.Errorf("%d mails sent and %d waiting after the end, want 3 and 0", sent, len(h.resets))
	}
}
