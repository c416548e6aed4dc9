package webhooks_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/id"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/transfers"
	"example.com/bankapi/internal/webhooks"
)

// bank is a ledger over a database of its own.
type bank struct {
	t      testing.TB
	pool   *pgxpool.Pool
	ledger *transfers.Service
	keys   int
}

func openBank(t testing.TB) *bank {
	t.Helper()
	b := &bank{t: t, pool: dbtest.Pool(t)}
	b.ledger = transfers.New(b.pool, transfers.Options{OpeningCredit: 100_000})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.ledger.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return b
}

// holder is a customer with one account.
type holder struct {
	owner   id.ID
	account transfers.AccountID
}

func (b *bank) holder() holder {
	b.t.Helper()
	h := holder{owner: id.New()}
	b.exec(`INSERT INTO users (id, email, password_hash, created_at) VALUES ($1, $2, '$argon2id$none', now())`, h.owner, h.owner.Encode("x")+"@example.com")
	account, err := b.ledger.OpenAccount(b.t.Context(), transfers.OwnerID(h.owner), "NGN", "")
	if err != nil {
		b.t.Fatal(err)
	}
	h.account = account.ID
	return h
}

// send moves money and returns the transfer's id as its event spells it.
func (b *bank) send(from, to holder, amount int64) string {
	b.t.Helper()
	b.keys++
	receipt, err := b.ledger.Transfer(b.t.Context(), transfers.Order{
		Owner: transfers.OwnerID(from.owner), From: from.account, To: to.account, Amount: transfers.Amount(amount), Currency: "NGN",
		Key: fmt.Sprint("k", b.keys), Scope: "test", Fingerprint: []byte("f"),
		Render: func(o transfers.Outcome) transfers.Response {
			if o.Refusal != nil {
				return transfers.Response{Status: http.StatusUnprocessableEntity, Body: []byte(o.Refusal.Error())}
			}
			return transfers.Response{Status: http.StatusCreated, Body: []byte("{}")}
		},
	})
	if err != nil || receipt.Status != http.StatusCreated {
		b.t.Fatalf("transfer: %+v, %v", receipt, err)
	}
	return id.ID(receipt.Transfer).Encode("evt")
}

func (b *bank) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.pool.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

func (b *bank) count(from string) (n int) {
	b.t.Helper()
	if err := b.pool.QueryRow(b.t.Context(), "SELECT count(*) FROM "+from).Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

// quick are options that let tests end soon.
func quick() webhooks.Options {
	return webhooks.Options{
		Rate: 100, AllowLoopback: true, FirstRetry: 20 * time.Millisecond, Timeout: 2 * time.Second, Poll: 20 * time.Millisecond,
		Line: func(perSecond int64, places int) (webhooks.Line, error) {
			return ratelimit.NewShaper(perSecond, time.Second, places)
		},
	}
}

// run sends until the test ends, or stop is called.
func (b *bank) run(opts webhooks.Options) (s *webhooks.Service, stop func()) {
	b.t.Helper()
	s = webhooks.New(b.pool, opts)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
	})
	b.t.Cleanup(stop)
	return s, stop
}

func (b *bank) hook(s *webhooks.Service, h holder, url string) (webhooks.Hook, string) {
	b.t.Helper()
	hook, secret, err := s.Create(b.t.Context(), webhooks.OwnerID(h.owner), url)
	if err != nil {
		b.t.Fatal(err)
	}
	return hook, secret
}

// partner is a server that is told of events.
type partner struct {
	*httptest.Server
	t      testing.TB
	answer func(w http.ResponseWriter, n int) // to the n-th request, from 1; nil says 204

	mu    sync.Mutex
	calls []call
}

// call is one request.
type call struct {
	at     time.Time
	path   string
	header http.Header
	body   []byte
}

func (c call) event() string { return c.header.Get("webhook-id") }

func newPartner(t testing.TB, answer func(w http.ResponseWriter, n int)) *partner {
	t.Helper()
	p := &partner{t: t, answer: answer}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *partner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	p.calls = append(p.calls, call{at, r.URL.Path, r.Header, body})
	n := len(p.calls)
	p.mu.Unlock()
	if p.answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	p.answer(w, n)
}

// heard returns the calls so far.
func (p *partner) heard() []call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]call(nil), p.calls...)
}

// await returns the calls as soon as there are n of them.
func (p *partner) await(n int) []call {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("%d calls", n), func() bool { return len(p.heard()) >= n })
	return p.heard()
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s after 30 s", what)
		}
	}
}

// verify is what a partner does with the secret, written from the text of Standard Webhooks.
func verify(t testing.TB, c call, secret string) {
	t.Helper()
	encoded, ok := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) != 32 {
		t.Fatalf("the secret %q is no whsec_ and 32 bytes", secret)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(c.event() + "." + c.header.Get("webhook-timestamp") + "."))
	mac.Write(c.body)
	if got, want := c.header.Get("webhook-signature"), "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)); got != want {
		t.Errorf("signature %q, want %q", got, want)
	}
	var seconds int64
	if _, err := fmt.Sscan(c.header.Get("webhook-timestamp"), &seconds); err != nil || time.Since(time.Unix(seconds, 0)).Abs() > time.Minute {
		t.Errorf("timestamp %q is not now", c.header.Get("webhook-timestamp"))
	}
}

func decode(t testing.TB, body []byte) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return v
}
