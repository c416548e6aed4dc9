package auth

import (
	"errors"
	"testing"
	"time"
)

func TestARevokedTokenIsRefusedEverywhereWithinASecond(t *testing.T) {
	t.Parallel()
	here := newHarness(t)
	there := onPool(here.pool, here.clock)
	here.listen(t)
	there.listen(t)
	here.mustSignUp(t, "ada@example.com")
	session := here.mustLogIn(t, "ada@example.com").Token
	p := here.mustAuthenticate(t, session)
	key, secret, err := here.CreateAPIKey(t.Context(), p, "key")
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{session, secret} {
		here.mustAuthenticate(t, token)
		there.mustAuthenticate(t, token)
		if !there.remembers(token) {
			t.Fatal("the other instance does not cache: this test would prove nothing")
		}
	}
	revoke := map[string]func() error{
		secret:  func() error { return here.RevokeAPIKey(t.Context(), p, key.ID) },
		session: func() error { return here.LogOut(t.Context(), p) },
	}
	for _, token := range []string{secret, session} {
		if err := revoke[token](); err != nil {
			t.Fatal(err)
		}
		revoked := time.Now()
		if _, err := here.Authenticate(t.Context(), token); !errors.Is(err, ErrInvalidToken) {
			t.Errorf("here, at once: %v, want ErrInvalidToken", err)
		}
		eventually(t, "refusal there", func() bool {
			_, err := there.Authenticate(t.Context(), token)
			return errors.Is(err, ErrInvalidToken)
		})
		if took := time.Since(revoked); took > RevocationLag {
			t.Errorf("refused there after %v, want at most %v", took, RevocationLag)
		}
	}
}

func TestALookUpThatARevocationOvertookIsNotCached(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.listen(t)
	h.mustSignUp(t, "ada@example.com")
	token := h.mustLogIn(t, "ada@example.com").Token
	_, hash, _ := parseToken(token)

	since, now := h.cache.mark(), h.clock.now() // a look-up begins and reads the row,
	cred, err := h.store.credential(t.Context(), Session, hash)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, h.pool, `DELETE FROM sessions`) // the row goes, the notification arrives,
	eventually(t, "notification", func() bool { return h.cache.mark() != since })
	h.cache.accept(hash, cred.principal, now, cred.ends(), since) // and only then the look-up ends.
	if h.remembers(token) || h.Known(token) {
		t.Error("the revoked token is in the cache")
	}
}

func TestALostListenerMakesAllStaleAndComesBack(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.listen(t)
	h.mustSignUp(t, "ada@example.com")
	token := h.mustLogIn(t, "ada@example.com").Token
	h.mustAuthenticate(t, token)
	before := h.cache.listener.Load()
	exec(t, h.pool, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%ping%'`)
	eventually(t, "other listener", func() bool { l := h.cache.listener.Load(); return l != nil && l != before })
	if h.remembers(token) {
		t.Error("a principal found before the gap is fresh after it")
	}
	if !h.Known(token) {
		t.Error("a gap made a returning caller a stranger")
	}
	h.awaitListener(t)
	h.mustAuthenticate(t, token)
	if !h.remembers(token) {
		t.Error("nothing is cached after the listener came back")
	}
}

// A network that swallows everything gives no error. The silence itself must count.
func TestASilentListenerVouchesForNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	token := h.mustLogIn(t, "ada@example.com").Token
	l := new(listener)
	h.cache.attach(l)
	l.trustTill.Store(h.clock.now().Add(RevocationLag).UnixNano()) // its last pulse
	h.mustAuthenticate(t, token)
	if !h.remembers(token) {
		t.Fatal("not cached")
	}
	h.clock.advance(RevocationLag)
	if h.remembers(token) {
		t.Error("still fresh a second after the last sign of life")
	}
}

// An upgrade is worth something from the moment it commits, for sessions and API keys.
func TestAChangedPlanIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.listen(t)
	h.mustSignUp(t, "ada@example.com")
	session := h.mustLogIn(t, "ada@example.com").Token
	_, key, err := h.CreateAPIKey(t.Context(), h.mustAuthenticate(t, session), "cron")
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range []string{"pro", "enterprise"} {
		exec(t, h.pool, `UPDATE users SET plan = $1`, plan)
		for _, token := range []string{session, key} {
			eventually(t, plan, func() bool { return h.mustAuthenticate(t, token).Plan == plan })
		}
	}
}

func TestNotifyByHandDropsEverything(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.listen(t)
	h.mustSignUp(t, "ada@example.com")
	token := h.mustLogIn(t, "ada@example.com").Token
	for _, payload := range []string{"", "all", "zz", string(make([]byte, 0)), "00", longHex} {
		h.mustAuthenticate(t, token)
		if !h.remembers(token) {
			t.Fatal("not cached")
		}
		exec(t, h.pool, `SELECT pg_notify('auth_revoked', $1)`, payload)
		eventually(t, "empty cache", func() bool { return !h.remembers(token) })
	}
}

const longHex = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
