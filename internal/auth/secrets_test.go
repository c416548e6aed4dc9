package auth

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Whatever goes wrong, what is logged and returned holds no password, token, hash or address.
func TestNoSecretsInLogsAndErrors(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	token := h.mustLogIn(t, "ada@example.com").Token
	p := h.mustAuthenticate(t, token)
	_, secret, err := h.CreateAPIKey(t.Context(), p, "key")
	if err != nil {
		t.Fatal(err)
	}
	_, tokenSum, _ := parseToken(token)
	_, secretSum, _ := parseToken(secret)
	_, phcText, err := h.store.userByEmail(t.Context(), "ada@example.com")
	if err != nil {
		t.Fatal(err)
	}

	var said strings.Builder
	say := func(err error) {
		if err != nil {
			said.WriteString(err.Error() + "\n")
		}
	}
	provoke := func(ctx context.Context) {
		_, err := h.SignUp(ctx, "ada@example.com", password)
		say(err)
		_, err = h.SignUp(ctx, "ada@example.com", "ada@example.com")
		say(err)
		_, err = h.LogIn(ctx, "ada@example.com", password)
		say(err)
		for _, token := range []string{token, secret, newToken(Session), token + "x"} {
			_, err = h.Authenticate(ctx, token)
			say(err)
		}
		_, err = h.Me(ctx, p)
		say(err)
		say(h.RevokeAPIKey(ctx, p, p.Credential))
		_, _, err = h.CreateAPIKey(ctx, p, "key")
		say(err)
	}
	h.hasher.params.Passes++ // hashes are renewed, or not
	provoke(t.Context())
	exec(t, h.pool, `UPDATE users SET password_hash = password_hash || '$'`)
	provoke(t.Context())
	over, cancel := context.WithCancel(t.Context())
	cancel()
	provoke(over)
	exec(t, h.pool, `ALTER TABLE sessions RENAME TO gone`)
	exec(t, h.pool, `ALTER TABLE users RENAME COLUMN email TO mail`)
	provoke(t.Context())
	h.pool.Close()
	provoke(t.Context())

	text := said.String() + h.log.String()
	for what, needle := range map[string]string{
		"password": password, "session token": token[10:], "API key": secret[9:], "password hash": phcText[20:],
		"token hash": hex.EncodeToString(tokenSum[:]), "key hash": hex.EncodeToString(secretSum[:]), "address": "ada@example.com",
	} {
		if strings.Contains(strings.ToLower(text), strings.ToLower(needle)) {
			t.Errorf("the %s is in logs or errors:\n%s", what, text)
		}
	}
	if strings.Count(text, "\n") < 20 {
		t.Errorf("too few errors were provoked:\n%s", text)
	}
}

// failures counts the statements that the database refused.
type failures struct{ atomic.Int64 }

func (*failures) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (f *failures) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if data.Err != nil {
		f.Add(1)
	}
}

// PostgreSQL writes the statements that it refuses into its log, values and all.
func TestATakenAddressIsNoErrorOfTheDatabase(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.mustSignUp(t, "ada@example.com")
	refused, config := new(failures), h.pool.Config()
	config.ConnConfig.Tracer = refused
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := onPool(pool, h.clock).SignUp(t.Context(), "ada@example.com", password); !errors.Is(err, ErrEmailTaken) {
		t.Errorf("got %v, want ErrEmailTaken", err)
	}
	if n := refused.Load(); n != 0 {
		t.Errorf("the database refused %d statements, want 0", n)
	}
}
