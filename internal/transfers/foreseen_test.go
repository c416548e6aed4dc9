package transfers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/transfers"
)

// locks counts the batches that writers lock before they judge them.
type locks struct {
	batches atomic.Int64
}

func (l *locks) wrap(conn net.Conn) net.Conn { return &overheard{Conn: conn, l: l} }

type overheard struct {
	net.Conn
	l *locks
}

func (o *overheard) Write(p []byte) (int, error) {
	o.l.batches.Add(int64(bytes.Count(p, []byte("\x00ledger_0_BEGIN\x00")))) // its Bind: the empty name of a portal comes first
	return o.Conn.Write(p)
}

// pool returns a pool on the bank's database whose writers are overheard.
func (l *locks) pool(b *bank) *pgxpool.Pool { return b.wrapped(l.wrap) }

func TestKnownAccountsAreNotLocked(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	var l locks
	b.Service = start(t, l.pool(b), transfers.Options{})
	ada, grace := b.open(1000), b.open(0)
	b.mustSend(order(ada, grace, 500, "first"), 201)
	if n := l.batches.Load(); n != 1 {
		t.Fatalf("%d batches were locked for a first order, want 1", n)
	}
	for i := range 20 {
		b.mustSend(order(ada, grace, 10, fmt.Sprint("out", i)), 201)
		b.mustSend(order(grace, ada, 5, fmt.Sprint("home", i)), 201)
	}
	parallel(50, func(i int) { b.mustSend(order(ada, grace, 1, fmt.Sprint("crowd", i)), 201) })
	if n := l.batches.Load(); n != 1 {
		t.Errorf("%d batches were locked, want 1: nobody else uses the accounts", n)
	}
	b.wantBalance(ada, 1000-500-20*5-50)

	b.mustSend(order(ada, grace, 10_000, "too much"), 422)
	if n := l.batches.Load(); n != 2 {
		t.Errorf("%d batches were locked, want 2: no refusal is foreseen", n)
	}
}

// An order that is sent again is answered without the writer. What that knows of the accounts stays good.
func TestARepeatedOrderSurprisesNobody(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	var l locks
	b.Service = start(t, l.pool(b), transfers.Options{})
	ada, grace := b.open(100), b.open(0)
	paid, refused := order(ada, grace, 10, "paid"), order(ada, grace, 1000, "refused")
	first, second := b.mustSend(paid, 201), b.mustSend(refused, 422)
	locked := l.batches.Load()
	parallel(20, func(i int) {
		b.mustSend(order(ada, grace, 1, fmt.Sprint("new", i)), 201)
		if r := b.mustSend(paid, 201); !r.Replayed || !bytes.Equal(r.Body, first.Body) {
			t.Errorf("%+v is not what was answered first", r)
		}
		if r := b.mustSend(refused, 422); !r.Replayed || !bytes.Equal(r.Body, second.Body) {
			t.Errorf("%+v is not what was refused first", r)
		}
	})
	if n := l.batches.Load(); n != locked {
		t.Errorf("%d batches were locked because of repeated orders, want none", n-locked)
	}
	other := paid
	other.Fingerprint = []byte("another order")
	if _, err := b.send(other); !errors.As(err, new(*transfers.KeyReusedError)) {
		t.Errorf("another order under the same key: %v", err)
	}
	b.wantBalance(ada, 100-10-20)

	b.exec(`DELETE FROM idempotency_keys WHERE key = 'paid'`) // its day is over
	if r := b.mustSend(paid, 201); r.Replayed || bytes.Equal(r.Body, first.Body) {
		t.Errorf("%+v is the answer that was forgotten", r)
	}
	b.wantBalance(ada, 100-10-20-10)
}

// What somebody else did since accounts were last seen is met, whatever it was.
func TestForesightMeetsWhatOthersDid(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	for name, c := range map[string]struct {
		meanwhile func(other *transfers.Service, ada, grace holder) error
		amount    transfers.Amount
		status    int
		replayed  bool
		says      error
		known     transfers.Known
	}{
		"the money is gone": {known: transfers.Surprised, amount: 60, status: 422, says: transfers.ErrInsufficientFunds, meanwhile: func(other *transfers.Service, ada, grace holder) error {
			_, err := other.Transfer(t.Context(), order(ada, grace, 50, "theirs"))
			return err
		}},
		"money has come": {known: transfers.Locked, amount: 95, status: 201, meanwhile: func(other *transfers.Service, ada, grace holder) error {
			_, err := other.Transfer(t.Context(), order(grace, ada, 10, "theirs"))
			return err
		}},
		"it is there in spite of all": {known: transfers.Surprised, amount: 30, status: 201, meanwhile: func(other *transfers.Service, ada, grace holder) error {
			_, err := other.Transfer(t.Context(), order(ada, grace, 50, "theirs"))
			return err
		}},
		"the order was answered": {known: transfers.Surprised, amount: 30, status: 201, replayed: true, meanwhile: func(other *transfers.Service, ada, grace holder) error {
			_, err := other.Transfer(t.Context(), order(ada, grace, 30, "ours"))
			return err
		}},
		"the sender is frozen": {known: transfers.Surprised, amount: 30, status: 422, says: transfers.ErrAccountFrozen, meanwhile: func(other *transfers.Service, ada, _ holder) error {
			return other.SetStatus(t.Context(), ada.account, transfers.Frozen)
		}},
		"the recipient is frozen": {known: transfers.Surprised, amount: 30, status: 422, says: transfers.ErrRecipientFrozen, meanwhile: func(other *transfers.Service, _, grace holder) error {
			return other.SetStatus(t.Context(), grace.account, transfers.Frozen)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l locks
			var known atomic.Value
			ours := start(t, l.pool(b), transfers.Options{Settled: func(_ int, how transfers.Known) { known.Store(how) }})
			theirs := start(t, b.pool, transfers.Options{})
			ada, grace := b.open(100), b.open(100)
			for _, o := range []transfers.Order{order(ada, grace, 10, "before"), order(ada, grace, 1, "foreseen")} {
				if r, err := ours.Transfer(t.Context(), o); err != nil || r.Status != 201 {
					t.Fatalf("%+v, %v", r, err)
				}
			}
			if n := l.batches.Load(); n != 1 {
				t.Fatalf("%d batches were locked, want the first", n)
			}
			awaitKnown(t, &known, transfers.Foreseen)
			if err := c.meanwhile(theirs, ada, grace); err != nil {
				t.Fatal(err)
			}
			r, err := ours.Transfer(t.Context(), order(ada, grace, c.amount, "ours"))
			if err != nil || r.Status != c.status || r.Replayed != c.replayed {
				t.Errorf("%+v, %v; want %d, replayed %v", r, err, c.status, c.replayed)
			}
			if c.says != nil && !strings.Contains(string(r.Body), c.says.Error()) {
				t.Errorf("%s; want %v", r.Body, c.says)
			}
			if n := l.batches.Load(); n != 2 {
				t.Errorf("%d batches were locked, want the first and the one that was not foreseen", n)
			}
			awaitKnown(t, &known, c.known)
		})
	}
}

// awaitKnown returns once the last batch is said to have been known so: that is told after the answer is given.
func awaitKnown(t *testing.T, known *atomic.Value, want transfers.Known) {
	t.Helper()
	for range 500 {
		if known.Load() == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the batch was %v, want %v", known.Load(), want)
}

// The writes of a foreseen batch went through and the answer was lost: it is found out, and happened once.
func TestLostAnswerToAForeseenBatchIsFoundOut(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	c := &cutter{word: []byte("INSERT 0 1\x00")}
	b.Service = start(t, b.through(c), transfers.Options{})
	ada, grace := b.open(100), b.open(0)
	b.mustSend(order(ada, grace, 10, "first"), 201)
	for i := range 5 {
		c.armed.Store(true)
		if r := b.mustSend(order(ada, grace, 10, fmt.Sprint("k", i)), 201); r.Replayed || c.armed.Load() {
			t.Errorf("%+v, cut %v", r, !c.armed.Load())
		}
		b.mustSend(order(ada, grace, 1, fmt.Sprint("known", i)), 201)
	}
	b.wantBalance(ada, 100-10-5*11)
}

// pair is a writer that has two batches on their way: the first is judged, and before it is sent the second is queued.
type pair struct {
	*bank
	l      locks
	first  transfers.Order
	second transfers.Order
	armed  atomic.Bool
	got    chan transfers.Receipt // of the second
}

func (p *pair) start(t *testing.T, through func(*bank) *pgxpool.Pool) {
	t.Helper()
	p.got = make(chan transfers.Receipt, 1)
	p.Service = start(t, through(p.bank), transfers.Options{AheadFrom: 1, Fault: func(point transfers.Point) {
		if point != transfers.BeforeCommit || !p.armed.CompareAndSwap(true, false) {
			return
		}
		go func() {
			r, err := p.send(p.second)
			if err != nil {
				t.Errorf("the second order: %v", err)
			}
			p.got <- r
		}()
		for !p.InFlight(p.second.Owner, p.second.Scope, p.second.Key) {
			time.Sleep(time.Millisecond)
		}
	}})
}

// Two batches are on their way when the first turns out not to be as foreseen, or the connection breaks. Each is answered
// with what became of it, and what happened happened once.
func TestTwoBatchesOnTheirWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(p *pair, other *transfers.Service, ada, grace, linus, ken holder) error
		cut       bool
		balances  [4]transfers.Amount // of ada, grace, linus, ken, who had 100 and have paid 1 in a ring
	}{
		"both are as foreseen": {balances: [4]transfers.Amount{70, 110, 100, 120}},
		"the first one's account was moved": {
			meanwhile: func(_ *pair, other *transfers.Service, ada, _, _, ken holder) error {
				_, err := other.Transfer(context.Background(), order(ken, ada, 5, "theirs"))
				return err
			},
			balances: [4]transfers.Amount{75, 110, 100, 115},
		},
		"the second one's account was moved": {
			meanwhile: func(_ *pair, other *transfers.Service, _, _, linus, ken holder) error {
				_, err := other.Transfer(context.Background(), order(linus, ken, 5, "theirs"))
				return err
			},
			balances: [4]transfers.Amount{70, 110, 95, 125},
		},
		"the first one's key was used": {
			meanwhile: func(p *pair, other *transfers.Service, _, _, _, _ holder) error {
				_, err := other.Transfer(context.Background(), p.first)
				return err
			},
			balances: [4]transfers.Amount{70, 110, 100, 120},
		},
		"both keys were used": {
			meanwhile: func(p *pair, other *transfers.Service, _, _, _, _ holder) error {
				_, err1 := other.Transfer(context.Background(), p.first)
				_, err2 := other.Transfer(context.Background(), p.second)
				return errors.Join(err1, err2)
			},
			balances: [4]transfers.Amount{70, 110, 100, 120},
		},
		"the answer to the first one is lost": {cut: true, balances: [4]transfers.Amount{70, 110, 100, 120}},
		"the second one has to be locked": {
			meanwhile: func(p *pair, other *transfers.Service, ada, _, _, ken holder) error {
				p.second.Amount = 1000 // a refusal is not foreseen
				_, err := other.Transfer(context.Background(), order(ken, ada, 5, "theirs"))
				return err
			},
			balances: [4]transfers.Amount{75, 130, 100, 95},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openBank(t, transfers.Options{})
			other := b.Service
			ada, grace, linus, ken := b.open(100), b.open(100), b.open(100), b.open(100)
			cut := &cutter{word: []byte("INSERT 0 1\x00")}
			p := &pair{bank: b, first: order(ada, grace, 30, "first"), second: order(grace, ken, 20, "second")}
			p.start(t, func(b *bank) *pgxpool.Pool {
				if c.cut {
					return b.through(cut)
				}
				return p.l.pool(b)
			})
			for i, h := range []holder{ada, grace, linus, ken} {
				p.mustSend(order(h, []holder{grace, linus, ken, ada}[i], 1, "ring"), 201)
			}
			if c.meanwhile != nil {
				if err := c.meanwhile(p, other, ada, grace, linus, ken); err != nil {
					t.Fatal(err)
				}
			}
			locked := p.l.batches.Load()
			p.armed.Store(true)
			cut.armed.Store(c.cut)
			p.mustSend(p.first, 201)
			second, want := <-p.got, 201
			if p.second.Amount == 1000 {
				want = 422
			}
			if second.Status != want {
				t.Errorf("the second order: %+v, want %d", second, want)
			}
			if p.armed.Load() || cut.armed.Load() {
				t.Fatal("the two were not on their way together, or nothing was cut")
			}
			if !c.cut && c.meanwhile == nil && p.l.batches.Load() != locked {
				t.Error("batches were locked that could be foreseen")
			}
			for i, h := range []holder{ada, grace, linus, ken} {
				p.wantBalance(h, c.balances[i])
			}
			for _, o := range []transfers.Order{p.first, p.second} {
				if r, err := p.send(o); err != nil || !r.Replayed {
					t.Errorf("%q again: %+v, %v", o.Key, r, err)
				}
			}
		})
	}
}

// Whatever two instances and a hand in the database do in turns, each order is answered as if there were only one.
func TestForesightChangesNoAnswer(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	b := openBank(t, transfers.Options{})
	services := []*transfers.Service{b.Service, start(t, b.pool, transfers.Options{})}
	const opened = 50
	holders := []holder{b.open(opened), b.open(opened), b.open(opened), b.open(opened)}
	balances := []transfers.Amount{opened, opened, opened, opened}
	frozen := make([]bool, len(holders))
	answered := map[string]transfers.Receipt{}
	var orders []transfers.Order
	turns := 0
	for step := range 600 {
		if r.IntN(20) == 0 {
			i := r.IntN(len(holders))
			frozen[i] = !frozen[i]
			status := map[bool]transfers.Status{true: transfers.Frozen, false: transfers.Active}[frozen[i]]
			if err := b.SetStatus(t.Context(), holders[i].account, status); err != nil {
				t.Fatal(err)
			}
		}
		if r.IntN(12) == 0 { // long turns, so that there is something to foresee
			turns++
		}
		from := r.IntN(len(holders))
		to := (from + 1 + r.IntN(len(holders)-1)) % len(holders)
		o := order(holders[from], holders[to], transfers.Amount(1+r.IntN(30)), fmt.Sprint(step))
		if len(orders) > 0 && r.IntN(8) == 0 {
			o = orders[r.IntN(len(orders))]
		}
		got, err := services[turns%2].Transfer(t.Context(), o)
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		if first, again := answered[o.Key]; again {
			if !got.Replayed || !bytes.Equal(got.Body, first.Body) {
				t.Fatalf("step %d: %+v, was %+v", step, got, first)
			}
			continue
		}
		want := 201
		if frozen[from] || frozen[to] || balances[from] < o.Amount {
			want = 422
		} else {
			balances[from], balances[to] = balances[from]-o.Amount, balances[to]+o.Amount
		}
		if got.Status != want || got.Replayed {
			t.Fatalf("step %d: %+v, want %d", step, got, want)
		}
		orders, answered[o.Key] = append(orders, o), got
	}
	for i, h := range holders {
		b.wantBalance(h, balances[i])
	}
}

// An order that the database cannot take fails alone, also if the next batch is on its way when that turns out.
func TestAFaultyOrderHarmsNoFollower(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace, linus, ken := b.open(100), b.open(100), b.open(100), b.open(100)
	p := &pair{bank: b, first: order(ada, grace, 30, "first")}
	p.first.Render = func(transfers.Outcome) transfers.Response { return transfers.Response{Status: 999} }
	p.start(t, func(b *bank) *pgxpool.Pool { return b.pool })
	for _, known := range []bool{false, true} { // locked, then foreseen
		p.second = order(linus, ken, 20, fmt.Sprint("second", known))
		p.armed.Store(true)
		if r, err := p.send(p.first); err == nil {
			t.Errorf("known %v: a faulty order was answered: %+v", known, r)
		}
		if second := <-p.got; second.Status != 201 || second.Replayed {
			t.Errorf("known %v: the second order: %+v", known, second)
		}
		p.mustSend(order(ada, grace, 1, fmt.Sprint("after", known)), 201)
	}
	p.wantBalance(grace, 102)
	p.wantBalance(ken, 140)
}
