package transfers

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/bankapi/internal/id"
)

// The model is the ledger as one would tell it to a child: a list of what happened, searched from the start each time.
type model struct {
	accounts []modelAccount
	past     []modelAnswer
}

type modelAccount struct {
	id       AccountID
	owner    OwnerID
	currency string
	frozen   bool
	balance  Amount
}

type modelAnswer struct {
	order  Order
	status int
}

// tell returns what must come out of an order: a status (and whether it is a replay), or an error.
func (m *model) tell(o *Order) (status int, replayed bool, err error) {
	for _, p := range m.past {
		if p.order.Owner == o.Owner && p.order.Key == o.Key && p.order.Scope == o.Scope {
			if string(p.order.Fingerprint) != string(o.Fingerprint) {
				return 0, false, &KeyReusedError{}
			}
			return p.status, true, nil
		}
	}
	from, to := m.find(o.From), m.find(o.To)
	if from == nil || from.owner != o.Owner {
		return 0, false, ErrAccountNotFound
	}
	if to == nil {
		return 0, false, ErrRecipientNotFound
	}
	if from.currency != o.Currency || to.currency != o.Currency {
		return 0, false, ErrCurrencyMismatch
	}
	status = 422
	if !from.frozen && !to.frozen && from.balance >= o.Amount {
		from.balance -= o.Amount
		to.balance += o.Amount
		status = 201
	}
	m.past = append(m.past, modelAnswer{*o, status})
	return status, false, nil
}

func (m *model) find(a AccountID) *modelAccount {
	for i := range m.accounts {
		if m.accounts[i].id == a {
			return &m.accounts[i]
		}
	}
	return nil
}

func anyModel(t *rapid.T) *model {
	m := &model{}
	for i := range rapid.IntRange(2, 6).Draw(t, "accounts") {
		m.accounts = append(m.accounts, modelAccount{
			id:       AccountID{0: byte(i + 1)},
			owner:    OwnerID{0: byte(rapid.IntRange(1, 3).Draw(t, "owner"))},
			currency: rapid.SampledFrom([]string{"NGN", "NGN", "NGN", "EUR"}).Draw(t, "currency"),
			frozen:   rapid.IntRange(0, 5).Draw(t, "frozen") == 0,
			balance:  Amount(rapid.Int64Range(0, 30).Draw(t, "balance")),
		})
	}
	return m
}

func anyOrder(t *rapid.T) *Order {
	from := byte(rapid.IntRange(1, 7).Draw(t, "from"))
	o := &Order{
		Owner:    OwnerID{0: byte(rapid.IntRange(1, 3).Draw(t, "asks"))},
		From:     AccountID{0: from},
		To:       AccountID{0: (from+byte(rapid.IntRange(0, 5).Draw(t, "to")))%7 + 1},
		Amount:   Amount(rapid.Int64Range(1, 20).Draw(t, "amount")),
		Currency: rapid.SampledFrom([]string{"NGN", "NGN", "EUR"}).Draw(t, "in"),
		Key:      rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key"),
		Scope:    rapid.SampledFrom([]string{"s", "s", "z"}).Draw(t, "scope"),
		Render:   renderForTest,
	}
	o.Fingerprint = fmt.Append(nil, o.From, o.To, o.Amount, o.Currency)
	return o
}

func renderForTest(o Outcome) Response {
	if o.Refusal != nil {
		return Response{Status: 422, Body: []byte(o.Refusal.Error())}
	}
	return Response{Status: 201, Body: o.Transfer.ID[:]}
}

// locked is the book that a model's accounts make.
func (m *model) locked(newID func() TransferID) *book {
	b := &book{accounts: map[AccountID]*account{}, answers: map[name]answer{}, newID: newID}
	for _, a := range m.accounts {
		b.accounts[a.id] = &account{owner: a.owner, currency: a.currency, frozen: a.frozen, balance: a.balance}
	}
	return b
}

func TestJudgeAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := anyModel(t)
		b := m.locked(risingIDs())
		for range rapid.IntRange(1, 4).Draw(t, "batches") { // the book carries over, as the database does
			orders := rapid.SliceOfN(rapid.Custom(anyOrder), 1, 25).Draw(t, "orders")
			for i, v := range judge(b, orders) {
				checkVerdict(t, m, orders[i], v)
			}
			for _, a := range m.accounts {
				if got := b.accounts[a.id].balance; got != a.balance || got < 0 {
					t.Fatalf("balance of %x is %d, want %d", a.id[0], got, a.balance)
				}
			}
		}
	})
}

func checkVerdict(t *rapid.T, m *model, o *Order, v verdict) {
	status, replayed, err := m.tell(o)
	if _, reused := errors.AsType[*KeyReusedError](err); reused {
		if _, ok := errors.AsType[*KeyReusedError](v.err); !ok {
			t.Fatalf("verdict %+v, want a reused key", v)
		}
	} else if !errors.Is(v.err, err) {
		t.Fatalf("error %v, want %v", v.err, err)
	}
	if v.receipt.Status != status || v.receipt.Replayed != replayed {
		t.Fatalf("receipt %+v, want status %d, replayed %v", v.receipt, status, replayed)
	}
	if executed := status == 201 && !replayed; executed != (v.posting != nil) {
		t.Fatalf("posting %+v for a status of %d, replayed %v", v.posting, status, replayed)
	}
	if kept := status != 0 && !replayed; kept != v.keep {
		t.Fatalf("keep is %v for a status of %d, replayed %v", v.keep, status, replayed)
	}
}

func TestPostingsContinueHistories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := anyModel(t)
		b := m.locked(anyIDs(t))
		type end struct {
			sequence int64
			balance  Amount
			last     TransferID
		}
		ends := map[AccountID]end{}
		for _, a := range m.accounts {
			ends[a.id] = end{balance: a.balance}
		}
		step := func(a AccountID, id TransferID, sequence int64, change, balance Amount) {
			before := ends[a]
			if sequence != before.sequence+1 || balance != before.balance+change || bytes.Compare(id[:], before.last[:]) <= 0 {
				t.Fatalf("entry #%d of %x: balance %d, id %x does not continue %+v by %d", sequence, a[0], balance, id, before, change)
			}
			ends[a] = end{sequence, balance, id}
		}
		for _, v := range judge(b, rapid.SliceOfN(rapid.Custom(anyOrder), 1, 60).Draw(t, "orders")) {
			if p := v.posting; p != nil {
				step(p.From, p.ID, p.fromSequence, -p.Amount, p.fromBalance)
				step(p.To, p.ID, p.toSequence, p.Amount, p.toBalance)
			}
		}
	})
}

// risingIDs are ids of a clock that runs.
func risingIDs() func() TransferID {
	var n uint64
	return func() TransferID {
		n++
		var t TransferID
		binary.BigEndian.PutUint64(t[8:], n)
		return t
	}
}

// anyIDs are ids of a clock that jumps; UUIDv7 all the same.
func anyIDs(t *rapid.T) func() TransferID {
	return func() TransferID { return TransferID(anyUUID(t)) }
}

func anyUUID(t *rapid.T) id.ID {
	var u id.ID
	copy(u[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid"))
	u[0] &= 0x7f // leaves the next four millennia as room to advance
	u[6] = u[6]&0x0f | 0x70
	u[8] = u[8]&0x3f | 0x80
	return u
}

func TestAdvanceRisesAndStaysAUUIDv7(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u, n := anyUUID(t), rapid.Uint64Range(1, 1<<62).Draw(t, "n")
		next := advance(u, n)
		if next.Compare(u) <= 0 || next[6]>>4 != 7 || next[8]>>6 != 2 {
			t.Fatalf("%x advanced by %d is %x", u, n, next)
		}
		twice := advance(advance(u, n/2), n-n/2)
		if diff := cmp.Diff(next, twice); diff != "" {
			t.Fatalf("in two steps: %s", diff)
		}
	})
}

func TestAdvanceCarries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, want string }{
		{"00000000-0001-7000-bfff-ffffffffffff", "00000000-0001-7001-8000-000000000000"},
		{"00000000-0001-7fff-bfff-ffffffffffff", "00000000-0002-7000-8000-000000000000"},
		{"00000000-0001-7000-8000-000000000000", "00000000-0001-7000-8000-000000000001"},
	} {
		if got := advance(parseUUID(t, c.from), 1); got != parseUUID(t, c.want) {
			t.Errorf("after %s comes %x, want %s", c.from, got, c.want)
		}
	}
}

func parseUUID(t *testing.T, s string) id.ID {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil {
		t.Fatal(err)
	}
	return id.ID(b)
}
