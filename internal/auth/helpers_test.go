package auth

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/crypto/argon2"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/logtest"
)

const password = "correct-horse-battery-staple"

var cheap = HashParams{MemoryKiB: 64, Passes: 1, Threads: 1}

// clock is a clock that moves when told to.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.ns.Store(time.Date(2026, 9, 24, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.ns.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

// harness is a Service on its own database with cheap hashes, a clock and a count of what is expensive.
type harness struct {
	*Service
	pool  *pgxpool.Pool
	clock *clock
	log   *logtest.Buffer
	runs  *atomic.Int64 // of argon2id
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	return onPool(dbtest.Pool(t), newClock())
}

// onPool returns one more instance of the program on the same database.
func onPool(pool *pgxpool.Pool, clock *clock) *harness {
	h := &harness{pool: pool, clock: clock, log: new(logtest.Buffer), runs: new(atomic.Int64)}
	h.Service = New(pool, Options{Now: clock.now, Log: slog.New(slog.NewTextHandler(h.log, nil)), Hash: cheap})
	h.hasher.derive = func(password, salt []byte, passes, memory uint32, threads uint8, keyLen uint32) []byte {
		h.runs.Add(1)
		return argon2.IDKey(password, salt, passes, memory, threads, keyLen)
	}
	return h
}

func (h *harness) mustSignUp(t *testing.T, email string) User {
	t.Helper()
	user, err := h.SignUp(t.Context(), email, password)
	if err != nil {
		t.Fatalf("SignUp(%q): %v", email, err)
	}
	return user
}

func (h *harness) mustLogIn(t *testing.T, email string) LogIn {
	t.Helper()
	in, err := h.LogIn(t.Context(), email, password)
	if err != nil {
		t.Fatalf("LogIn(%q): %v", email, err)
	}
	return in
}

func (h *harness) mustAuthenticate(t *testing.T, token string) Principal {
	t.Helper()
	p, err := h.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatalf("Authenticate: %v", err)
	}
	return p
}

// listen runs Listen until the test ends and waits until it is heard from.
func (h *harness) listen(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Listen(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Listen: %v", err)
		}
	})
	h.awaitListener(t)
}

func (h *harness) awaitListener(t *testing.T) {
	t.Helper()
	eventually(t, "a listener with a pulse", func() bool {
		l := h.cache.listener.Load()
		return l != nil && h.cache.vouches(l, h.clock.now())
	})
}

// remembers reports whether the token would be accepted without a look-up.
func (h *harness) remembers(token string) bool {
	_, hash, _ := parseToken(token)
	_, verdict := h.cache.get(hash, h.clock.now())
	return verdict == good
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s after 20 s", what)
		}
	}
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func count(t *testing.T, pool *pgxpool.Pool, table string) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), fmt.Sprintf("SELECT count(*) FROM %s", table)).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
