package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/clientip"
	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/httpapi"
	"example.com/bankapi/internal/idempotency"
	"example.com/bankapi/internal/logtest"
	"example.com/bankapi/internal/openapitest"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/policyfile"
	"example.com/bankapi/internal/rates"
	"example.com/bankapi/internal/telemetry"
	"example.com/bankapi/internal/transfers"
	"example.com/bankapi/internal/webhooks"
)

const password = "correct-horse-battery-staple"

// bank is the whole API over a database of its own, with limits in memory on a clock that stands still.
type bank struct {
	t       testing.TB
	handler http.Handler
	deps    httpapi.Deps
	pool    *pgxpool.Pool
	clock   *clock
	log     *logtest.Buffer
	people  atomic.Int64
}

// clock is the limiter's time. It moves only when it is told to.
type clock struct{ micros atomic.Int64 }

func (c *clock) Now() time.Time { return time.UnixMicro(c.micros.Load()).UTC() }

func (c *clock) Advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// openBank starts a bank; change adjusts what it is made of.
func openBank(t testing.TB, change ...func(*httpapi.Deps)) *bank {
	t.Helper()
	b := &bank{t: t, pool: dbtest.Pool(t), clock: &clock{}, log: &logtest.Buffer{}}
	b.clock.micros.Store(time.Date(2026, 9, 24, 12, 0, 0, 0, time.UTC).UnixMicro())
	log := slog.New(slog.NewJSONHandler(b.log, nil))
	metrics := telemetry.New()
	started := time.Now()
	b.deps = httpapi.Deps{
		Auth: auth.New(b.pool, auth.Options{
			Now:  func() time.Time { return started }, // a token that was looked up stays fresh however slow the machine is
			Hash: auth.HashParams{MemoryKiB: 64, Passes: 1, Threads: 1},
		}),
		Transfers: transfers.New(b.pool, transfers.Options{OpeningCredit: 100_000}),
		Webhooks:  webhooks.New(b.pool, webhooks.Options{}),
		Keys:      idempotency.Store{Pool: b.pool},
		Rates:     rates.Store{Pool: b.pool},
		Limiter: &ratelimit.Limiter{
			Default:  &ratelimit.Backend{Name: "memory", Store: ratelimit.NewMemory(ratelimit.MemoryOptions{Now: b.clock.Now})},
			Observer: &httpapi.LimitObserver{Log: log, Metrics: metrics},
			Now:      b.clock.Now,
		},
		Limits:  policyfile.NewLive(policyfile.Default()),
		Ready:   b.pool.Ping,
		Now:     time.Now,
		Log:     log,
		Metrics: metrics,
	}
	prefixes, err := clientip.ParsePrefixes("192.0.2.1/32") // httptest's peer is the proxy, so tests choose addresses
	if err != nil {
		t.Fatal(err)
	}
	b.deps.ClientIP = clientip.Resolver{Trusted: prefixes}
	for _, f := range change {
		f(&b.deps)
	}
	b.run(b.deps.Auth.Listen, b.deps.Transfers.Run)
	b.handler = httpapi.New(b.deps)
	return b
}

// run runs services until the test ends.
func (b *bank) run(services ...func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, service := range services {
		running.Go(func() {
			if err := service(ctx); err != nil {
				b.t.Errorf("service: %v", err)
			}
		})
	}
	b.t.Cleanup(func() {
		stop()
		running.Wait()
	})
}

// caller is somebody who calls the bank: from an address, perhaps with a token.
type caller struct {
	*bank
	address string
	token   string
	email   string
}

// from returns a caller without a token.
func (b *bank) from(address string) caller { return caller{bank: b, address: address} }

// somebody is a new user, logged in, with an address of their own and nothing charged.
func (b *bank) somebody() caller {
	b.t.Helper()
	n := b.people.Add(1)
	c := b.from(fmt.Sprintf("10.0.%d.%d", n>>8, n&255))
	c.email = fmt.Sprintf("user%d@example.com", n)
	c.must(http.StatusCreated, "POST", "/users", credentials(c.email, password))
	return c.logIn()
}

func (c caller) logIn() caller {
	c.t.Helper()
	c.token = c.must(http.StatusCreated, "POST", "/sessions", credentials(c.email, password)).text("token")
	return c
}

func credentials(email, password string) string {
	return fmt.Sprintf(`{"email":%q,"password":%q}`, email, password)
}

// openAccount opens an account and returns its id. It costs a unit of the user's limit.
func (c caller) openAccount(currency string) string {
	c.t.Helper()
	return c.must(http.StatusCreated, "POST", "/accounts", fmt.Sprintf(`{"currency":%q}`, currency)).text("id")
}

func order(from, to string, amount int64) string {
	return fmt.Sprintf(`{"from_account":%q,"to_account":%q,"amount":%d,"currency":"NGN"}`, from, to, amount)
}

func (c caller) transfer(key, body string) answer {
	c.t.Helper()
	return c.do("POST", "/transfers", body, "Idempotency-Key", key)
}

// rested returns c after everybody's limits have been refilled.
func (c caller) rested() caller {
	c.clock.Advance(time.Hour)
	return c
}

// request builds a request of the caller's; headers are name, value pairs.
func (c caller) request(method, path string, body io.Reader, headers ...string) *http.Request {
	r := httptest.NewRequest(method, path, body)
	r.Header.Set("X-Forwarded-For", c.address)
	if body != nil && body != http.NoBody {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// do sends a request and checks the answer against the document, as every test here does.
func (c caller) do(method, path, body string, headers ...string) answer {
	c.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	return c.send(c.request(method, path, reader, headers...))
}

func (c caller) send(r *http.Request, when ...openapitest.Condition) answer {
	c.t.Helper()
	response := openapitest.Serve(c.t, c.handler, r, when...)
	body, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{Status: response.StatusCode, Header: response.Header, Body: body}
}

// flood sends n requests and looks at none of the answers.
func (c caller) flood(n int, method, path string) {
	for range n {
		c.handler.ServeHTTP(httptest.NewRecorder(), c.request(method, path, nil))
	}
}

// must is do for a step that is not what the test is about.
func (c caller) must(status int, method, path, body string, headers ...string) answer {
	c.t.Helper()
	got := c.do(method, path, body, headers...)
	if got.Status != status {
		c.t.Fatalf("%s %s: got %s, want %d", method, path, got, status)
	}
	return got
}

// answer is a response, read to its end.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.Status, a.Body) }

// text returns a top-level string member of the body, or "".
func (a answer) text(name string) string {
	var members map[string]any
	_ = json.Unmarshal(a.Body, &members)
	s, _ := members[name].(string)
	return s
}

// into decodes the body.
func into[T any](t testing.TB, a answer) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(a.Body, &v); err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	return v
}

// problem is what tests look at in a problem body.
type problem struct {
	Type     string
	Detail   string
	Violated []string `json:"violated-policies"`
	Errors   []struct{ Detail, Pointer, Parameter string }
}

// wantProblem checks the status and the last part of the type.
func wantProblem(t testing.TB, got answer, status int, slug string) problem {
	t.Helper()
	p := into[problem](t, got)
	if got.Status != status || !strings.HasSuffix(p.Type, slug) {
		t.Errorf("got %s, want %d %s", got, status, slug)
	}
	return p
}

func wantHeader(t testing.TB, got answer, name, want string) {
	t.Helper()
	if value := got.Header.Get(name); value != want {
		t.Errorf("%s: got %q, want %q (%s)", name, value, want, got)
	}
}
