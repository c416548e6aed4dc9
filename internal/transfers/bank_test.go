package transfers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/id"
	"example.com/bankapi/internal/transfers"
)

const scope = "POST /transfers"

// bank is a ledger with a running batcher on a database of its own.
type bank struct {
	*transfers.Service
	t    testing.TB
	pool *pgxpool.Pool
}

// openBank starts a ledger, and has it audited when the test is over.
func openBank(t testing.TB, o transfers.Options) *bank {
	t.Helper()
	return openBankOn(t, dbtest.Pool(t), o)
}

func openBankOn(t testing.TB, pool *pgxpool.Pool, o transfers.Options) *bank {
	t.Helper()
	b := &bank{t: t, pool: pool}
	t.Cleanup(b.audit)
	b.Service = start(t, pool, o)
	return b
}

// start runs a service until the test ends.
func start(t testing.TB, pool *pgxpool.Pool, o transfers.Options) *transfers.Service {
	t.Helper()
	s := transfers.New(pool, o)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return s
}

func (b *bank) audit() {
	report, err := transfers.New(b.pool, transfers.Options{}).Integrity(context.Background())
	if err != nil {
		b.t.Errorf("Integrity: %v", err)
	}
	if !report.OK() {
		b.t.Errorf("the ledger is not sound: %+v", report)
	}
}

// user adds a row of users; the ledger wants no more of them than that.
func (b *bank) user() transfers.OwnerID {
	b.t.Helper()
	owner := transfers.OwnerID(id.New())
	b.exec(`INSERT INTO users (id, email, password_hash, created_at) VALUES ($1, $2, '$argon2id$test', now())`, owner, owner.String())
	return owner
}

// open opens an NGN account of a new user with a balance.
func (b *bank) open(balance transfers.Amount) holder {
	b.t.Helper()
	return b.openFor(b.user(), "NGN", balance)
}

func (b *bank) openFor(owner transfers.OwnerID, currency string, balance transfers.Amount) holder {
	b.t.Helper()
	opener := transfers.New(b.pool, transfers.Options{OpeningCredit: balance})
	a, err := opener.OpenAccount(b.t.Context(), owner, currency, "")
	if err != nil {
		b.t.Fatal(err)
	}
	return holder{owner: owner, account: a.ID}
}

// holder is an owner and one account of theirs.
type holder struct {
	owner   transfers.OwnerID
	account transfers.AccountID
}

// order asks for NGN to move; its fingerprint is its content.
func order(from, to holder, amount transfers.Amount, key string) transfers.Order {
	o := transfers.Order{
		Owner: from.owner, From: from.account, To: to.account, Amount: amount, Currency: "NGN",
		Key: key, Scope: scope, Render: render,
	}
	o.Fingerprint = fmt.Append(nil, o.From, o.To, o.Amount, o.Currency)
	return o
}

type body struct {
	ID      string
	Amount  transfers.Amount
	Refusal string
}

func render(o transfers.Outcome) transfers.Response {
	b, status := body{ID: o.Transfer.ID.String(), Amount: o.Transfer.Amount}, 201
	if o.Refusal != nil {
		b, status = body{Refusal: o.Refusal.Error()}, 422
	}
	data, _ := json.Marshal(b)
	return transfers.Response{Status: status, Body: data}
}

func (b *bank) send(o transfers.Order) (transfers.Receipt, error) {
	return b.Transfer(b.t.Context(), o)
}

// mustSend wants a receipt with the status.
func (b *bank) mustSend(o transfers.Order, status int) transfers.Receipt {
	b.t.Helper()
	r, err := b.send(o)
	if err != nil || r.Status != status {
		b.t.Errorf("order %q: status %d, body %s, error %v; want status %d", o.Key, r.Status, r.Body, err, status)
	}
	return r
}

// wantErr wants an error and nothing else.
func (b *bank) wantErr(o transfers.Order, want error) {
	b.t.Helper()
	if r, err := b.send(o); !errors.Is(err, want) {
		b.t.Errorf("order %q: %+v, %v; want %v", o.Key, r, err, want)
	}
}

func (b *bank) wantBalance(h holder, want transfers.Amount) {
	b.t.Helper()
	a, err := b.Account(b.t.Context(), h.owner, h.account)
	if err != nil || a.Balance != want {
		b.t.Errorf("balance of %v is %d, %v; want %d", h.account, a.Balance, err, want)
	}
}

func (b *bank) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.pool.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatal(err)
	}
}

// parallel runs f(0) to f(n-1) at once and waits for them.
func parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// within fails the test if f takes longer: a lock or a queue is stuck.
func within(t testing.TB, limit time.Duration, f func()) {
	t.Helper()
	begun := time.Now()
	f()
	if took := time.Since(begun); took > limit {
		t.Errorf("took %v, want at most %v", took, limit)
	}
}

// awaitLockWait returns once some session of the database waits for a lock.
func (b *bank) awaitLockWait() {
	b.t.Helper()
	b.await(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
}

// await polls until the query counts something.
func (b *bank) await(query string, args ...any) {
	b.t.Helper()
	for range 500 {
		var n int
		if err := b.pool.QueryRow(b.t.Context(), query, args...).Scan(&n); err != nil {
			b.t.Fatal(err)
		}
		if n > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.t.Fatalf("nothing came of %s", query)
}

// mishaps is a log that nothing should be written to: no batch is tried twice.
type mishaps struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (m *mishaps) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.Write(p)
}

func (m *mishaps) options() transfers.Options {
	return transfers.Options{Log: slog.New(slog.NewTextHandler(m, nil))}
}

func (m *mishaps) wantNone(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.text.Len() > 0 {
		t.Errorf("batches were tried again:\n%s", &m.text)
	}
}
