package auth

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/semaphore"
)

func TestSignUpLogInAuthenticate(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	user := h.mustSignUp(t, "  Ada@Example.COM ")
	want := User{ID: user.ID, Email: "ada@example.com", Plan: "free", CreatedAt: h.clock.now()}
	if diff := cmp.Diff(want, user); diff != "" {
		t.Error(diff)
	}
	in := h.mustLogIn(t, "ADA@example.com")
	if diff := cmp.Diff(want, in.User); diff != "" {
		t.Error(diff)
	}
	if got, want := in.ExpiresAt, h.clock.now().Add(12*time.Hour); !got.Equal(want) {
		t.Errorf("expires at %v, want %v", got, want)
	}
	p := h.mustAuthenticate(t, in.Token)
	if p.User != user.ID || p.Email != want.Email || p.Plan != "free" || p.Kind != Session || p.Credential.IsZero() {
		t.Errorf("principal = %+v", p)
	}
	if me, err := h.Me(t.Context(), p); err != nil || me != want {
		t.Errorf("Me = %+v, %v; want %+v", me, err, want)
	}
	if !strings.HasPrefix(user.ID.String(), "usr_") {
		t.Errorf("user id %s", user.ID)
	}
}

func TestSignUpRefuses(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	tests := []struct {
		email, password string
		want            error
	}{
		{"Ada@EXAMPLE.com", password, ErrEmailTaken},
		{"ＡＤＡ@example.com", password, ErrEmailTaken}, // full width letters
		{"ada", password, ErrInvalidEmail},
		{"a\x00da@example.com", password, ErrInvalidEmail},
		{"grace@example.com", "fourteen chars", ErrWeakPassword},
		{"grace.hopper@example.com", "Grace.Hopper@example.com", ErrWeakPassword},
	}
	for _, tt := range tests {
		if user, err := h.SignUp(t.Context(), tt.email, tt.password); !errors.Is(err, tt.want) {
			t.Errorf("SignUp(%q, %q) = %+v, %v; want %v", tt.email, tt.password, user, err, tt.want)
		}
	}
	if n := count(t, h.pool, "users"); n != 1 {
		t.Errorf("%d users, want 1", n)
	}
}

func TestOneOfManyParallelSignUpsGetsTheAddress(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var made, taken atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			switch _, err := h.SignUp(t.Context(), "ada@example.com", password); {
			case err == nil:
				made.Add(1)
			case errors.Is(err, ErrEmailTaken):
				taken.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 || taken.Load() != 19 {
		t.Errorf("%d made, %d taken; want 1 and 19", made.Load(), taken.Load())
	}
}

// The work is what takes time, so equal work is equal time: one run of argon2id with the same parameters.
func TestEveryFailedLogInIsTheSameErrorAfterTheSameWork(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	tests := map[string]struct{ email, password string }{
		"wrong password":      {"ada@example.com", "correct-horse-battery-stapler"},
		"other case":          {"ada@example.com", strings.ToUpper(password)},
		"empty password":      {"ada@example.com", ""},
		"huge password":       {"ada@example.com", strings.Repeat("x", 1<<20)},
		"unknown address":     {"nobody@example.com", password},
		"malformed address":   {"nobody", password},
		"empty address":       {"", password},
		"NUL in the address":  {"ada@example.com\x00", password},
		"address not UTF-8":   {"ada\xff@example.com", password},
		"NUL in the password": {"ada@example.com", password + "\x00"},
	}
	for name, tt := range tests {
		before := h.runs.Load()
		_, err := h.LogIn(t.Context(), tt.email, tt.password)
		if err != ErrBadCredentials { //nolint:errorlint // exactly this error: nothing wrapped may tell the cases apart
			t.Errorf("%s: %v, want ErrBadCredentials itself", name, err)
		}
		if n := h.runs.Load() - before; n != 1 {
			t.Errorf("%s: %d runs of argon2id, want 1", name, n)
		}
	}
	if d := h.hasher.decoy(); d.params != h.hasher.params || len(d.salt) != saltLen || len(d.sum) != sumLen {
		t.Errorf("the decoy costs %+v, a real hash %+v", d.params, h.hasher.params)
	}
}

func TestOnePasswordFromTwoKeyboards(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	if _, err := h.SignUp(t.Context(), "zoe@example.com", "Zoë rides a wild horse"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.LogIn(t.Context(), "zoe@example.com", "Zoe\u0308 rides a wild horse"); err != nil {
		t.Errorf("the decomposed spelling: %v", err)
	}
}

func TestAHashWithOldParametersIsRenewedAtLogIn(t *testing.T) {
	t.Parallel()
	old := newHarness(t)
	old.mustSignUp(t, "ada@example.com")
	now := onPool(old.pool, old.clock)
	now.hasher.params.Passes = 3
	if _, err := now.LogIn(t.Context(), "ada@example.com", "not the password at all"); !errors.Is(err, ErrBadCredentials) {
		t.Fatal(err)
	}
	stored := func() phc {
		_, hash, err := now.store.userByEmail(t.Context(), "ada@example.com")
		if err != nil {
			t.Fatal(err)
		}
		p, err := parsePHC(hash)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if got := stored().params; got != cheap {
		t.Errorf("a failed log-in changed the hash to %+v", got)
	}
	now.mustLogIn(t, "ada@example.com")
	if got := stored().params; got != now.hasher.params {
		t.Errorf("hash has %+v after log-in, want %+v", got, now.hasher.params)
	}
	runs := now.runs.Load()
	now.mustLogIn(t, "ada@example.com")
	if n := now.runs.Load() - runs; n != 1 {
		t.Errorf("%d runs of argon2id at the next log-in, want 1", n)
	}
}

func TestNoMoreHashesAtATimeThanSlots(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	h.hasher.slots = semaphore.NewWeighted(2)
	var running, most atomic.Int64
	h.hasher.derive = func(_, _ []byte, _, _ uint32, _ uint8, keyLen uint32) []byte {
		now := running.Add(1)
		defer running.Add(-1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		time.Sleep(time.Millisecond)
		return make([]byte, keyLen)
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := h.LogIn(t.Context(), "ada@example.com", password); !errors.Is(err, ErrBadCredentials) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most.Load() != 2 {
		t.Errorf("%d hashes at a time, want 2", most.Load())
	}
}

func TestWaitingForASlotEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	h.hasher.slots = semaphore.NewWeighted(1)
	if !h.hasher.slots.TryAcquire(1) {
		t.Fatal("no slot")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // the user is looked up well before that
	defer cancel()
	if _, err := h.LogIn(ctx, "ada@example.com", password); !errors.Is(err, ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("LogIn = %v, want ErrBusy because of the deadline", err)
	}
	if _, err := h.SignUp(ctx, "grace@example.com", password); !errors.Is(err, ErrBusy) {
		t.Errorf("SignUp = %v, want ErrBusy", err)
	}
	h.hasher.slots.Release(1)
	h.mustLogIn(t, "ada@example.com")
}

func TestOneSessionMoreThanAllowedEndsTheLongestUnused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	other := onPool(h.pool, h.clock) // one more instance
	h.listen(t)
	other.listen(t)
	h.mustSignUp(t, "ada@example.com")
	h.mustSignUp(t, "grace@example.com")
	grace := h.mustLogIn(t, "grace@example.com").Token
	used, unused := h.mustLogIn(t, "ada@example.com").Token, h.mustLogIn(t, "ada@example.com").Token
	other.mustAuthenticate(t, unused)
	h.clock.advance(2 * time.Minute)
	h.mustAuthenticate(t, used)
	var more sync.WaitGroup
	for range MaxSessions - 1 {
		more.Go(func() {
			if _, err := h.LogIn(t.Context(), "ada@example.com", password); err != nil {
				t.Error(err)
			}
		})
	}
	more.Wait()
	if n := count(t, h.pool, "sessions"); n != MaxSessions+1 {
		t.Errorf("%d sessions of two users, want %d", n, MaxSessions+1)
	}
	if _, err := h.Authenticate(t.Context(), unused); !errors.Is(err, ErrInvalidToken) {
		t.Errorf("the session unused the longest: %v, want ErrInvalidToken", err)
	}
	eventually(t, "end of the session on the other instance", func() bool {
		_, err := other.Authenticate(t.Context(), unused)
		return errors.Is(err, ErrInvalidToken)
	})
	h.mustAuthenticate(t, used)
	h.mustAuthenticate(t, grace)
}
