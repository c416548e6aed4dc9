package transfers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/postgres"
	"example.com/bankapi/internal/transfers"
)

// cutter breaks connections at a chosen word of the server's: the word is lost, whatever it was about has happened.
type cutter struct {
	word  []byte
	armed atomic.Bool
}

func (c *cutter) wrap(conn net.Conn) net.Conn { return &cutConn{Conn: conn, c: c} }

type cutConn struct {
	net.Conn
	c *cutter
}

func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if bytes.Contains(p[:n], c.c.word) && c.c.armed.CompareAndSwap(true, false) {
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// through returns a pool on the same database whose connections c can cut.
func (b *bank) through(c *cutter) *pgxpool.Pool { return b.wrapped(c.wrap) }

// wrapped returns a pool on the bank's database whose connections are wrapped.
func (b *bank) wrapped(wrap func(net.Conn) net.Conn) *pgxpool.Pool {
	b.t.Helper()
	return b.connected(func(c *pgx.ConnConfig) {
		c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return wrap(conn), nil
		}
	})
}

// connected returns a pool on the bank's database that connects in another way.
func (b *bank) connected(change func(*pgx.ConnConfig)) *pgxpool.Pool {
	b.t.Helper()
	config := b.pool.Config()
	change(config.ConnConfig)
	pool, err := pgxpool.NewWithConfig(b.t.Context(), config)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(pool.Close)
	return pool
}

// COMMIT went through and its answer was lost: the order is answered with what it did, and did it once.
func TestLostCommitIsFoundOut(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	c := &cutter{word: []byte("COMMIT\x00")}
	b.Service = start(t, b.through(c), transfers.Options{})
	ada, grace := b.open(100), b.open(0)

	c.armed.Store(true)
	paid := b.mustSend(order(ada, grace, 60, "pay"), 201)
	c.armed.Store(true)
	refused := b.mustSend(order(ada, grace, 60, "refuse"), 422)
	if c.armed.Load() {
		t.Fatal("the connection was not cut")
	}
	if paid.Replayed || refused.Replayed {
		t.Error("the answer to the order itself is marked as a replay")
	}
	if again := b.mustSend(order(ada, grace, 60, "pay"), 201); !again.Replayed || again.Transfer != paid.Transfer {
		t.Errorf("again: %+v, first: %+v", again, paid)
	}
	b.wantBalance(ada, 40)
}

// The transaction was lost before COMMIT: the order executes in the next attempt.
func TestLostTransactionIsRunAgain(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	c := &cutter{word: []byte("BEGIN\x00")}
	b.Service = start(t, b.through(c), transfers.Options{})
	ada, grace := b.open(100), b.open(0)
	c.armed.Store(true)
	if r := b.mustSend(order(ada, grace, 60, "k"), 201); r.Replayed || c.armed.Load() {
		t.Errorf("replayed %v, cut %v", r.Replayed, !c.armed.Load())
	}
	b.wantBalance(ada, 40)
}

// Answers are given after COMMIT: each success that a caller saw is in the ledger once, whatever happens to the writer.
func TestWriterIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	holders := make([]holder, 8)
	for i := range holders {
		holders[i] = b.open(1000)
	}
	seen, endLoad := b.load(holders)
	killed := 0
	for range 15 {
		time.Sleep(20 * time.Millisecond)
		var n int
		const kill = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'bankapi-ledger'`
		if err := b.pool.QueryRow(t.Context(), kill).Scan(&n); err != nil {
			t.Fatal(err)
		}
		killed += n
	}
	endLoad()
	if killed == 0 {
		t.Fatal("nothing was killed")
	}
	b.wantLedgerToHold(seen)
}

// A server that dies in the middle and comes back: what was answered stands, what was not is settled by the same key.
func TestServerIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	server := dbtest.PrivatePostgres(t)
	if err := postgres.Migrate(t.Context(), server.URL(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	pool, err := postgres.Open(t.Context(), server.URL(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	b := openBankOn(t, pool, transfers.Options{Patience: 100 * time.Millisecond}) // too short to sit the outage out
	holders := make([]holder, 8)
	for i := range holders {
		holders[i] = b.open(1000)
	}
	seen, endLoad := b.load(holders)
	for range 2 {
		time.Sleep(200 * time.Millisecond)
		server.Kill()
		server.Start()
	}
	time.Sleep(200 * time.Millisecond)
	endLoad()
	pool.Reset() // its connections died with the server, and are tried only after a second without use
	b.wantLedgerToHold(seen)
}

// load has 16 callers move money at random, each sending an order again, with its key, until it is answered. It notes the
// transfers they were told of.
func (b *bank) load(holders []holder) (seen *sync.Map, end func()) {
	seen = &sync.Map{}
	ctx, stop := context.WithCancel(b.t.Context())
	var callers sync.WaitGroup
	for caller := range 16 {
		callers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				from := rand.IntN(len(holders))
				to := (from + 1 + rand.IntN(len(holders)-1)) % len(holders)
				r := b.insist(order(holders[from], holders[to], 1, fmt.Sprint(caller, "-", n)))
				if _, twice := seen.LoadOrStore(r.Transfer, true); twice && r.Status == 201 {
					b.t.Errorf("transfer %v was reported twice", r.Transfer)
				}
			}
		})
	}
	return seen, func() {
		stop()
		callers.Wait()
		seen.Delete(transfers.TransferID{}) // of the refused
	}
}

// insist sends the order until it is not refused for want of a database.
func (b *bank) insist(o transfers.Order) transfers.Receipt {
	for {
		r, err := b.send(o)
		if err == nil {
			return r
		}
		if !errors.Is(err, transfers.ErrOverloaded) {
			b.t.Errorf("order %q: %v", o.Key, err)
			return r
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// wantLedgerToHold wants the ledger's transfers to be the ones seen, beside the opening credits.
func (b *bank) wantLedgerToHold(seen *sync.Map) {
	b.t.Helper()
	rows, err := b.pool.Query(b.t.Context(), `SELECT transfers.id FROM transfers JOIN accounts ON accounts.id = from_account WHERE owner_id IS NOT NULL`)
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var id transfers.TransferID
		if err := rows.Scan(&id); err != nil {
			b.t.Fatal(err)
		}
		if _, ok := seen.LoadAndDelete(id); !ok {
			b.t.Errorf("transfer %v moved money and nobody was told", id)
		}
		n++
	}
	seen.Range(func(id, _ any) bool {
		b.t.Errorf("transfer %v was answered and is not in the ledger", id)
		return true
	})
	b.t.Logf("%d transfers", n)
}

// Two instances share a database: the same keys reach both, the accounts overlap, and all of it happens once.
func TestTwoInstancesShareOneDatabase(t *testing.T) {
	t.Parallel()
	var log mishaps
	b := openBank(t, log.options())
	other := start(t, b.pool, log.options())
	holders := make([]holder, 6)
	for i := range holders {
		holders[i] = b.open(10_000)
	}
	var mu sync.Mutex
	got := map[string][]transfers.Receipt{}
	send := func(i int) {
		service := b.Service
		if i%2 == 1 {
			service = other
		}
		key := fmt.Sprint("k", i/2) // each key once in either instance
		from, to := holders[i/2%6], holders[(i/2%6+1+i/12%5)%6]
		r, err := service.Transfer(t.Context(), order(from, to, 3, key))
		if err != nil || r.Status != 201 {
			t.Errorf("%q: %+v, %v", key, r, err)
		}
		mu.Lock()
		defer mu.Unlock()
		got[key] = append(got[key], r)
	}
	parallel(20, func(caller int) { // many small batches, so that the instances meet often
		for n := range 30 {
			send(20*n + caller)
		}
	})
	log.wantNone(t)
	for key, r := range got {
		if len(r) != 2 || r[0].Transfer != r[1].Transfer || r[0].Replayed == r[1].Replayed {
			t.Errorf("%q: %+v", key, r)
		}
	}
	var n int
	if err := b.pool.QueryRow(t.Context(), `SELECT count(*) FROM transfers`).Scan(&n); err != nil || n != 300+6 {
		t.Errorf("%d transfers, %v; want 306", n, err)
	}
}

// One key, two instances, different accounts: no lock is shared, only the key. One order wins, the other is told.
func TestOneKeyWithTwoPayloadsOnTwoInstances(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	other := start(t, b.pool, transfers.Options{})
	ada := b.user()
	accounts := []holder{b.openFor(ada, "NGN", 1000), b.openFor(ada, "NGN", 1000), b.openFor(ada, "NGN", 0), b.openFor(ada, "NGN", 0)}
	for round := range 40 {
		var paid, reused atomic.Int32
		parallel(2, func(i int) {
			service := []*transfers.Service{b.Service, other}[i]
			r, err := service.Transfer(t.Context(), order(accounts[i], accounts[i+2], 1, fmt.Sprint(round)))
			if _, ok := errors.AsType[*transfers.KeyReusedError](err); ok {
				reused.Add(1)
			} else if err == nil && r.Status == 201 {
				paid.Add(1)
			} else {
				t.Errorf("%+v, %v", r, err)
			}
		})
		if paid.Load() != 1 || reused.Load() != 1 {
			t.Fatalf("round %d: %d paid, %d told that the key is used", round, paid.Load(), reused.Load())
		}
	}
}

// An order that the database cannot take (a body for which there is no status) fails alone.
func TestAFaultyOrderHarmsNoNeighbour(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(1000), b.open(0)
	parallel(40, func(i int) {
		o := order(ada, grace, 1, fmt.Sprint("k", i))
		if i%8 != 0 {
			b.mustSend(o, 201)
			return
		}
		o.Render = func(transfers.Outcome) transfers.Response { return transfers.Response{Status: 999} }
		if r, err := b.send(o); err == nil {
			t.Errorf("a faulty order was answered: %+v", r)
		}
	})
	b.wantBalance(grace, 35)
}

// An instance whose clock is fast has used the account: ids go on rising, statements stay in order.
func TestHistoriesRiseUnderASlowClock(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(1000), b.open(1000)
	b.asReplica(`UPDATE accounts SET last_transfer = 'ffff0000-0000-7000-8000-000000000000' WHERE owner_id IS NOT NULL`)
	parallel(50, func(i int) { b.mustSend(order(ada, grace, 1, fmt.Sprint("k", i)), 201) })
	entries, _, err := b.Entries(t.Context(), ada.owner, ada.account, transfers.Page{Limit: 100})
	if err != nil || len(entries) != 51 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for i, e := range entries {
		if e.Sequence != int64(51-i) {
			t.Errorf("entry %d has sequence %d", i, e.Sequence)
		}
	}
}

// asReplica runs sql with the ledger's triggers off.
func (b *bank) asReplica(sql string, args ...any) {
	b.t.Helper()
	conn, err := b.pool.Acquire(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Release()
	for _, step := range []string{"SET session_replication_role = replica", sql, "RESET session_replication_role"} {
		if step != sql {
			_, err = conn.Exec(b.t.Context(), step)
		} else {
			_, err = conn.Exec(b.t.Context(), step, args...)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
}
