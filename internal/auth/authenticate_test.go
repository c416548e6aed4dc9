package auth

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/bankapi/internal/id"
)

func TestOneErrorForEveryBadToken(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	revoked, expired := h.mustLogIn(t, "ada@example.com").Token, h.mustLogIn(t, "ada@example.com").Token
	if err := h.LogOut(t.Context(), h.mustAuthenticate(t, revoked)); err != nil {
		t.Fatal(err)
	}
	h.clock.advance(SessionIdle)
	tests := map[string]string{
		"unknown session": newToken(Session),
		"unknown API key": newToken(APIKey),
		"revoked":         revoked,
		"expired":         expired,
		"empty":           "",
		"wrong checksum":  expired[:len(expired)-1] + "!",
		"wrong kind":      apiKeyPrefix + expired[len(sessionPrefix):],
		"not UTF-8":       "\xff\x00",
		"very long":       strings.Repeat("bank_sess_", 10_000),
	}
	for name, token := range tests {
		for range 2 { // looked up, and from memory
			if p, err := h.Authenticate(t.Context(), token); err != ErrInvalidToken || p != (Principal{}) { //nolint:errorlint // exactly this error
				t.Errorf("%s: %+v, %v; want ErrInvalidToken itself", name, p, err)
			}
		}
		if h.Known(token) {
			t.Errorf("%s: known", name)
		}
	}
}

func TestASessionEndsWhenIdleAndAtItsAge(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	in := h.mustLogIn(t, "ada@example.com")
	for used := time.Duration(0); used < SessionLifetime-time.Minute; used += 59 * time.Minute {
		h.mustAuthenticate(t, in.Token)
		if h.clock.now().Add(59 * time.Minute).Before(in.ExpiresAt) {
			h.clock.advance(59 * time.Minute)
		}
	}
	h.clock.advance(in.ExpiresAt.Sub(h.clock.now()) - time.Microsecond)
	h.mustAuthenticate(t, in.Token)
	h.clock.advance(time.Microsecond)
	if _, err := h.Authenticate(t.Context(), in.Token); !errors.Is(err, ErrInvalidToken) {
		t.Errorf("12 hours after log-in: %v, want ErrInvalidToken", err)
	}

	idle := h.mustLogIn(t, "ada@example.com")
	h.clock.advance(SessionIdle - time.Microsecond)
	h.mustAuthenticate(t, idle.Token)
	h.clock.advance(SessionIdle)
	if _, err := h.Authenticate(t.Context(), idle.Token); !errors.Is(err, ErrInvalidToken) {
		t.Errorf("an hour after its last use: %v, want ErrInvalidToken", err)
	}
}

// Also a cached session ends on time.
func TestTheCacheDoesNotProlongASession(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	in := h.mustLogIn(t, "ada@example.com")
	exec(t, h.pool, `UPDATE sessions SET expires_at = $1`, h.clock.now().Add(2*time.Second))
	h.listen(t)
	h.mustAuthenticate(t, in.Token)
	h.clock.advance(2 * time.Second)
	if _, err := h.Authenticate(t.Context(), in.Token); !errors.Is(err, ErrInvalidToken) {
		t.Errorf("at its end: %v, want ErrInvalidToken", err)
	}
}

func TestUseIsWrittenAtMostOnceAMinute(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	token := h.mustLogIn(t, "ada@example.com").Token
	start := h.clock.now()
	for _, step := range []struct{ after, want time.Duration }{
		{0, 0},
		{59 * time.Second, 0},
		{time.Second, time.Minute},
		{30 * time.Second, time.Minute},
		{31 * time.Second, 121 * time.Second},
	} {
		h.clock.advance(step.after)
		h.mustAuthenticate(t, token)
		var used time.Time
		if err := h.pool.QueryRow(t.Context(), `SELECT last_used_at FROM sessions`).Scan(&used); err != nil {
			t.Fatal(err)
		}
		if got := used.Sub(start); got != step.want {
			t.Errorf("%v after log-in the last use noted is at %v, want %v", h.clock.now().Sub(start), got, step.want)
		}
	}
}

func TestWithoutAListenerNothingIsFresh(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	token := h.mustLogIn(t, "ada@example.com").Token
	h.mustAuthenticate(t, token)
	if h.remembers(token) {
		t.Error("a principal is fresh though nobody hears of revocations")
	}
	if !h.Known(token) {
		t.Error("the token is not known, want known: it was verified just now")
	}
	exec(t, h.pool, `DELETE FROM sessions`)
	if _, err := h.Authenticate(t.Context(), token); !errors.Is(err, ErrInvalidToken) {
		t.Errorf("after deletion: %v, want ErrInvalidToken", err)
	}
}

// A stranger who uses up the anonymous limit of an office must not keep those out who have just logged in.
func TestATokenIsKnownFromItsLogIn(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	h.listen(t)
	token := h.mustLogIn(t, "ada@example.com").Token
	if !h.Known(token) {
		t.Error("a token that this process has just made is not known")
	}
	remembered := h.mustAuthenticate(t, token)
	h.clock.advance(freshFor)
	if read := h.mustAuthenticate(t, token); remembered != read {
		t.Errorf("log-in remembered %+v, the database has %+v", remembered, read)
	}
}

func TestKnownOutlivesFresh(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	token := h.mustLogIn(t, "ada@example.com").Token
	h.listen(t)
	h.mustAuthenticate(t, token)
	if !h.remembers(token) || !h.Known(token) {
		t.Fatalf("fresh %v, known %v; want both", h.remembers(token), h.Known(token))
	}
	h.clock.advance(freshFor)
	if h.remembers(token) || !h.Known(token) {
		t.Errorf("30 s later: fresh %v, known %v; want known only", h.remembers(token), h.Known(token))
	}
	h.clock.advance(knownFor - freshFor)
	if h.Known(token) {
		t.Error("still known after 5 minutes")
	}
}

func TestParallelLookUpsOfATokenAreOne(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	token := h.mustLogIn(t, "ada@example.com").Token
	release := lockSessions(t, h)

	hasty, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := h.Authenticate(hasty, token)
		first <- err
	}()
	eventually(t, "look-up that waits", func() bool { return waiting(t, h) == 1 })
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := h.Authenticate(t.Context(), token); err != nil {
				t.Errorf("a caller that joined: %v", err)
			}
		})
	}
	cancel() // the caller whose look-up the others wait for goes away
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that left: %v, want its own cancellation", err)
	}
	time.Sleep(50 * time.Millisecond) // a second look-up would be waiting by now
	if n := waiting(t, h); n != 1 {
		t.Errorf("%d look-ups at a time, want 1", n)
	}
	release()
	wg.Wait()
}

// lockSessions makes every look-up of a session wait until release.
func lockSessions(t *testing.T, h *harness) (release func()) {
	t.Helper()
	tx, err := h.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}
}

func waiting(t *testing.T, h *harness) (n int) {
	t.Helper()
	err := h.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'sessions'::regclass`).Scan(&n)
	if err != nil {
		t.Error(err)
	}
	return n
}

func TestADatabaseThatDoesNotAnswerIsNotAnInvalidToken(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	token := h.mustLogIn(t, "ada@example.com").Token
	release := lockSessions(t, h)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := h.Authenticate(ctx, token); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrInvalidToken) {
		t.Errorf("Authenticate = %v, want the deadline", err)
	}
	release()
	h.mustAuthenticate(t, token)
}

func TestLogOutTwiceAndWithAnAPIKey(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	p := h.mustAuthenticate(t, h.mustLogIn(t, "ada@example.com").Token)
	for range 2 {
		if err := h.LogOut(t.Context(), p); err != nil {
			t.Errorf("LogOut: %v", err)
		}
	}
	if err := h.LogOut(t.Context(), Principal{User: p.User, Kind: APIKey, Credential: id.New()}); !errors.Is(err, ErrSessionRequired) {
		t.Errorf("LogOut with an API key = %v, want ErrSessionRequired", err)
	}
}

func TestPurgeDeletesOnlySessionsThatHaveEnded(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	for range 5 {
		h.mustLogIn(t, "ada@example.com")
	}
	h.clock.advance(SessionIdle - time.Second)
	alive := h.mustLogIn(t, "ada@example.com").Token
	if n, err := h.Purge(t.Context(), 100); err != nil || n != 0 {
		t.Errorf("Purge = %d, %v; want 0: none has ended", n, err)
	}
	h.clock.advance(time.Second)
	for _, want := range []int64{3, 2, 0} {
		if n, err := h.Purge(t.Context(), 3); err != nil || n != want {
			t.Errorf("Purge = %d, %v; want %d", n, err, want)
		}
	}
	h.mustAuthenticate(t, alive)
}
