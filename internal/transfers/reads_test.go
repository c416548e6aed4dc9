package transfers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/bankapi/internal/id"
	"example.com/bankapi/internal/transfers"
)

func TestStatementAddsUpAndPagesWhileRowsArrive(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(1000), b.open(500)
	for i := range 20 {
		b.mustSend(order(ada, grace, transfers.Amount(i+1), fmt.Sprint("out", i)), 201)
		b.mustSend(order(grace, ada, 2, fmt.Sprint("in", i)), 201)
	}
	var all []transfers.Entry
	page, more := transfers.Page{Limit: 7}, true
	for n := 0; more; n++ {
		var entries []transfers.Entry
		var err error
		entries, more, err = b.Entries(t.Context(), ada.owner, ada.account, page)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entries...)
		page.Before = entries[len(entries)-1].Transfer
		b.mustSend(order(grace, ada, 1, fmt.Sprint("meanwhile", n)), 201)
	}
	if len(all) != 41 {
		t.Fatalf("%d entries, want 40 and the opening credit", len(all))
	}
	var balance transfers.Amount
	for i, e := range slices.Backward(all) {
		balance += e.Amount
		if e.Sequence != int64(41-i) || e.BalanceAfter != balance {
			t.Errorf("entry %+v, want sequence %d and balance %d", e, 41-i, balance)
		}
	}
}

func TestStatementIsForTheOwner(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(1000), b.open(500)
	nobody := transfers.AccountID(id.New())
	for _, account := range []transfers.AccountID{grace.account, nobody} {
		if _, err := b.Account(t.Context(), ada.owner, account); !errors.Is(err, transfers.ErrAccountNotFound) {
			t.Errorf("account: %v", err)
		}
		if _, _, err := b.Entries(t.Context(), ada.owner, account, transfers.Page{Limit: 1}); !errors.Is(err, transfers.ErrAccountNotFound) {
			t.Errorf("statement: %v", err)
		}
	}
}

func TestListShowsEachTransferOnceNewestFirst(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(1000), b.open(500)
	second := b.openFor(ada.owner, "NGN", 0)
	var want []transfers.TransferID
	for i := range 9 {
		key := fmt.Sprint("k", i)
		o := []transfers.Order{order(ada, grace, 5, key), order(grace, second, 3, key), order(ada, second, 2, key)}[i%3]
		want = append(want, b.mustSend(o, 201).Transfer)
	}
	slices.Reverse(want)
	var got []transfers.TransferID
	page, more := transfers.Page{Limit: 4}, true
	for more {
		var list []transfers.Transfer
		var err error
		list, more, err = b.Transfers(t.Context(), ada.owner, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, transfer := range list {
			got = append(got, transfer.ID)
		}
		page.Before = got[len(got)-1]
	}
	if got = got[:len(got)-1]; !slices.Equal(got, want) { // the last one is the opening credit
		t.Errorf("listed %v, want %v", got, want)
	}
}

func TestTransferIsForBothSidesAndNobodyElse(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace, eve := b.open(1000), b.open(500), b.open(0)
	o := order(ada, grace, 5, "k")
	o.Memo = "rent ₦"
	sent := b.mustSend(o, 201).Transfer
	for _, owner := range []transfers.OwnerID{ada.owner, grace.owner} {
		got, err := b.GetTransfer(t.Context(), owner, sent)
		if err != nil || got.ID != sent || got.From != ada.account || got.To != grace.account || got.Amount != 5 || got.Memo != "rent ₦" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for _, id := range []transfers.TransferID{sent, transfers.TransferID(id.New())} {
		if _, err := b.GetTransfer(t.Context(), eve.owner, id); !errors.Is(err, transfers.ErrTransferNotFound) {
			t.Errorf("a stranger: %v", err)
		}
	}
}

func TestOpenAccount(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	b.Service = start(t, b.pool, transfers.Options{OpeningCredit: 250})
	ada := b.user()
	a, err := b.OpenAccount(t.Context(), ada, "EUR", "Holiday")
	if err != nil || a.Balance != 250 || a.Currency != "EUR" || a.Name != "Holiday" || a.Status != transfers.Active {
		t.Fatalf("%+v, %v", a, err)
	}
	stored, err := b.Account(t.Context(), ada, a.ID)
	if err != nil || stored != a {
		t.Errorf("stored %+v, returned %+v, %v", stored, a, err)
	}
	if _, err := b.OpenAccount(t.Context(), ada, "XXX", ""); !errors.Is(err, transfers.ErrUnknownCurrency) {
		t.Errorf("unknown currency: %v", err)
	}
	for _, name := range []string{strings.Repeat("ü", transfers.MaxName+1), "a\x00b", "\xff"} {
		if _, err := b.OpenAccount(t.Context(), ada, "EUR", name); !errors.Is(err, transfers.ErrInvalidName) {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func TestAccountsAreOpenedWhileMoneyMovesUpToTheLimit(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	b.Service = start(t, b.pool, transfers.Options{OpeningCredit: 10})
	ada, grace := b.open(1000), b.open(0)
	parallel(transfers.MaxAccounts+9, func(i int) {
		_, err := b.OpenAccount(t.Context(), ada.owner, "NGN", "")
		if err != nil && !errors.Is(err, transfers.ErrTooManyAccounts) {
			t.Errorf("open: %v", err)
		}
		b.mustSend(order(ada, grace, 1, fmt.Sprint("k", i)), 201)
	})
	accounts, err := b.Accounts(t.Context(), ada.owner)
	if err != nil || len(accounts) != transfers.MaxAccounts || accounts[0].ID != ada.account {
		t.Errorf("%d accounts, %v; want %d, the oldest first", len(accounts), err, transfers.MaxAccounts)
	}
}

func TestCurrencies(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{"NGN": 2, "EUR": 2, "USD": 2, "JPY": 0, "KWD": 3} {
		if c, ok := transfers.LookUpCurrency(code); !ok || c.Code != code || c.MinorUnits != want {
			t.Errorf("%s: %+v, %v; want %d minor units", code, c, ok, want)
		}
	}
	for _, code := range []string{"", "ngn", "XXX", "NGN "} {
		if _, ok := transfers.LookUpCurrency(code); ok {
			t.Errorf("%q is a currency", code)
		}
	}
}
