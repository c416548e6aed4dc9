package auth

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/id"
)

func TestAnAPIKeyFromCreationToRevocation(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	user := h.mustSignUp(t, "payroll@example.com")
	session := h.mustAuthenticate(t, h.mustLogIn(t, "payroll@example.com").Token)
	key, secret, err := h.CreateAPIKey(t.Context(), session, " nightly run ")
	if err != nil {
		t.Fatal(err)
	}
	want := APIKeyInfo{ID: key.ID, Name: "nightly run", Prefix: secret[:13], Last4: secret[41:], CreatedAt: h.clock.now()}
	if diff := cmp.Diff(want, key); diff != "" || !strings.HasPrefix(secret, "bank_key_") || len(secret) != 45 {
		t.Error(diff)
	}
	caller := h.mustAuthenticate(t, secret)
	if caller.User != user.ID || caller.Kind != APIKey || caller.Credential != key.ID || caller.Email != user.Email {
		t.Errorf("principal = %+v", caller)
	}
	if _, _, err := h.CreateAPIKey(t.Context(), caller, "child"); !errors.Is(err, ErrSessionRequired) {
		t.Errorf("a key that makes a key: %v, want ErrSessionRequired", err)
	}
	second, _, err := h.CreateAPIKey(t.Context(), session, "second")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := h.ListAPIKeys(t.Context(), caller)
	if diff := cmp.Diff([]APIKeyInfo{second, key}, keys); err != nil || diff != "" {
		t.Errorf("ListAPIKeys: %v %s", err, diff)
	}
	if err := h.RevokeAPIKey(t.Context(), caller, key.ID); err != nil { // a key may end itself
		t.Fatal(err)
	}
	if _, err := h.Authenticate(t.Context(), secret); !errors.Is(err, ErrInvalidToken) {
		t.Errorf("after revocation: %v, want ErrInvalidToken", err)
	}
	if err := h.RevokeAPIKey(t.Context(), session, key.ID); !errors.Is(err, ErrAPIKeyNotFound) {
		t.Errorf("revoked again: %v, want ErrAPIKeyNotFound", err)
	}
}

func TestAnothersAPIKeyDoesNotExist(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	h.mustSignUp(t, "grace@example.com")
	ada := h.mustAuthenticate(t, h.mustLogIn(t, "ada@example.com").Token)
	grace := h.mustAuthenticate(t, h.mustLogIn(t, "grace@example.com").Token)
	key, secret, err := h.CreateAPIKey(t.Context(), ada, "mine")
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []id.ID{key.ID, id.New()} {
		if err := h.RevokeAPIKey(t.Context(), grace, other); !errors.Is(err, ErrAPIKeyNotFound) {
			t.Errorf("RevokeAPIKey = %v, want ErrAPIKeyNotFound", err)
		}
	}
	if keys, err := h.ListAPIKeys(t.Context(), grace); err != nil || len(keys) != 0 {
		t.Errorf("grace sees %v, %v", keys, err)
	}
	h.mustAuthenticate(t, secret)
}

func TestAPIKeyNames(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	p := h.mustAuthenticate(t, h.mustLogIn(t, "ada@example.com").Token)
	for _, name := range []string{"", "  ", "a\x00b", "a\nb", "\xff", strings.Repeat("é", 65), "a\u202eb"} {
		if _, _, err := h.CreateAPIKey(t.Context(), p, name); !errors.Is(err, ErrInvalidAPIKeyName) {
			t.Errorf("name %q: %v, want ErrInvalidAPIKeyName", name, err)
		}
	}
	for _, name := range []string{"x", strings.Repeat("é", 64), "給与 2026"} {
		if _, _, err := h.CreateAPIKey(t.Context(), p, name); err != nil {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func TestParallelRequestsCannotPassTheLimitOfKeys(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	p := h.mustAuthenticate(t, h.mustLogIn(t, "ada@example.com").Token)
	var made, refused atomic.Int64
	var wg sync.WaitGroup
	for range MaxAPIKeys + 20 {
		wg.Go(func() {
			switch _, _, err := h.CreateAPIKey(t.Context(), p, "one of many"); {
			case err == nil:
				made.Add(1)
			case errors.Is(err, ErrTooManyAPIKeys):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if made.Load() != MaxAPIKeys || refused.Load() != 20 {
		t.Errorf("%d made, %d refused; want %d and 20", made.Load(), refused.Load(), MaxAPIKeys)
	}
}

func TestAUserWhoIsGoneTakesTheCredentialsAlong(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.listen(t)
	h.mustSignUp(t, "ada@example.com")
	token := h.mustLogIn(t, "ada@example.com").Token
	p := h.mustAuthenticate(t, token)
	_, secret, err := h.CreateAPIKey(t.Context(), p, "key")
	if err != nil {
		t.Fatal(err)
	}
	h.mustAuthenticate(t, secret)
	exec(t, h.pool, `DELETE FROM users`)
	eventually(t, "end of both credentials", func() bool { return !h.remembers(token) && !h.remembers(secret) })
	if _, err := h.Me(t.Context(), p); !errors.Is(err, ErrInvalidToken) {
		t.Errorf("Me = %v, want ErrInvalidToken", err)
	}
	if _, _, err := h.CreateAPIKey(t.Context(), p, "key"); !errors.Is(err, ErrInvalidToken) {
		t.Errorf("CreateAPIKey = %v, want ErrInvalidToken", err)
	}
}
