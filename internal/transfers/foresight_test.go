package transfers

import (
	"testing"

	"example.com/bankapi/internal/id"
)

func someOrders(n int) []*Order {
	orders := make([]*Order, n)
	for i := range orders {
		orders[i] = &Order{From: AccountID(id.New()), To: AccountID(id.New())}
	}
	return orders
}

// remembered is a book in which all accounts of the orders were found.
func remembered(orders []*Order, balance Amount) *book {
	b := newBook(orders)
	for accountID := range b.accounts {
		b.accounts[accountID] = &account{balance: balance}
	}
	return b
}

func TestForesightNeedsEveryAccount(t *testing.T) {
	t.Parallel()
	f, orders := newForesight(100), someOrders(3)
	if f.foresee(orders) != nil {
		t.Error("accounts were foreseen of which nothing is known")
	}
	f.remember(remembered(orders, 7))
	b := f.foresee(orders)
	if b == nil || b.accounts[orders[2].To].balance != 7 {
		t.Fatalf("remembered accounts are not foreseen: %+v", b)
	}
	b.accounts[orders[2].To].balance = 8 // judged, and not sent
	if again := f.foresee(orders); again.accounts[orders[2].To].balance != 7 {
		t.Error("what was not sent is remembered")
	}
	missing := newBook(orders)
	f.remember(missing)
	if f.foresee(orders) == nil {
		t.Error("an account that a book lacks was forgotten")
	}
	if f.foresee(append(orders, someOrders(1)...)) != nil {
		t.Error("a batch was foreseen although one of its accounts is unknown")
	}
}

func TestForesightIsBounded(t *testing.T) {
	t.Parallel()
	f := newForesight(10)
	for range 20 {
		orders := someOrders(3)
		f.remember(remembered(orders, 1))
		if len(f.accounts) > 10 {
			t.Fatalf("%d accounts are remembered, want at most 10", len(f.accounts))
		}
	}
}

// After each miss more batches are locked before one is foreseen again; hits bring trust back.
func TestForesightRestsAfterMisses(t *testing.T) {
	t.Parallel()
	f, orders := newForesight(100), someOrders(1)
	locked := func() (n int) {
		for f.remember(remembered(orders, 1)); f.foresee(orders) == nil; n++ {
		}
		return n
	}
	for i, want := range []int{0, 1, 3, 7, 15, 31, 63, 127, 255, 256, 256} {
		if got := locked(); got != want {
			t.Errorf("after %d misses %d batches are locked, want %d", i, got, want)
		}
		f.miss()
	}
	locked()
	for range 300 {
		f.hit()
	}
	f.miss()
	if got := locked(); got != 1 {
		t.Errorf("after many hits and a miss %d batches are locked, want 1", got)
	}
}

func TestOnlyTransfersAreForeseeable(t *testing.T) {
	t.Parallel()
	moved, refused := verdict{posting: &posting{}, keep: true}, verdict{keep: true}
	repeated := verdict{receipt: Receipt{Replayed: true}}
	for _, c := range []struct {
		name     string
		verdicts []verdict
		want     bool
	}{
		{"transfers", []verdict{moved, moved}, true},
		{"a repetition within the batch", []verdict{moved, repeated}, true},
		{"a refusal, which the database would not check", []verdict{moved, refused}, false},
		{"an error", []verdict{moved, {err: ErrAccountNotFound}}, false},
	} {
		if got := foreseeable(c.verdicts); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
