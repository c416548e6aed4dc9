package transfers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"example.com/bankapi/internal/id"
	"example.com/bankapi/internal/transfers"
)

func TestSameKeyReplaysAndOtherPayloadIsRefused(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(1000), b.open(0)
	first := b.mustSend(order(ada, grace, 300, "k"), 201)
	if first.Replayed || first.Transfer == (transfers.TransferID{}) {
		t.Errorf("first answer: %+v", first)
	}
	again := b.mustSend(order(ada, grace, 300, "k"), 201)
	if !again.Replayed || again.Transfer != first.Transfer || !bytes.Equal(again.Body, first.Body) {
		t.Errorf("replay %+v of %+v", again, first)
	}
	_, err := b.send(order(ada, grace, 301, "k"))
	reused, ok := errors.AsType[*transfers.KeyReusedError](err)
	if want := order(ada, grace, 300, "k").Fingerprint; !ok || !bytes.Equal(reused.Stored, want) {
		t.Errorf("reused key: %v, stored print %q; want %q", err, reused.Stored, want)
	}
	if r := b.mustSend(order(ada, grace, 300, "k"), 201); !r.Replayed {
		t.Error("the key no longer replays its first order")
	}
	b.wantBalance(ada, 700)
	b.wantBalance(grace, 300)
}

func TestOneKeyInParallelMovesMoneyOnce(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(1000), b.open(0)
	var fresh atomic.Int32
	ids := make([]transfers.TransferID, 50)
	parallel(50, func(i int) {
		r, err := b.send(order(ada, grace, 10, "k"))
		if err != nil || r.Status != 201 {
			t.Errorf("%+v, %v", r, err)
		}
		if !r.Replayed {
			fresh.Add(1)
		}
		ids[i] = r.Transfer
	})
	if fresh.Load() != 1 {
		t.Errorf("%d answers are not marked as replays, want 1", fresh.Load())
	}
	for _, other := range ids {
		if other != ids[0] {
			t.Fatalf("two transfers: %v and %v", other, ids[0])
		}
	}
	b.wantBalance(ada, 990)
}

func TestErrorsLeaveTheKeyFree(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(1000), b.open(0)
	euro := b.openFor(ada.owner, "EUR", 500)
	nobody := holder{owner: ada.owner, account: transfers.AccountID(id.New())}
	thief := holder{owner: grace.owner, account: ada.account}
	var system holder
	if err := b.pool.QueryRow(t.Context(), `SELECT id FROM accounts WHERE owner_id IS NULL AND currency = 'NGN'`).Scan(&system.account); err != nil {
		t.Fatal(err)
	}
	long := order(ada, grace, 1, "k")
	long.Memo = string(make([]byte, 10))
	for _, c := range []struct {
		name  string
		order transfers.Order
		want  error
	}{
		{"zero", order(ada, grace, 0, "k"), transfers.ErrAmountOutOfRange},
		{"negative", order(ada, grace, -1, "k"), transfers.ErrAmountOutOfRange},
		{"too much", order(ada, grace, transfers.MaxAmount+1, "k"), transfers.ErrAmountOutOfRange},
		{"to itself", order(ada, ada, 1, "k"), transfers.ErrSameAccount},
		{"from nowhere", order(nobody, grace, 1, "k"), transfers.ErrAccountNotFound},
		{"from somebody else", order(thief, grace, 1, "k"), transfers.ErrAccountNotFound},
		{"from the system", order(system, grace, 1, "k"), transfers.ErrAccountNotFound},
		{"to nowhere", order(ada, nobody, 1, "k"), transfers.ErrRecipientNotFound},
		{"to the system", order(ada, system, 1, "k"), transfers.ErrRecipientNotFound},
		{"to another currency", order(ada, euro, 1, "k"), transfers.ErrCurrencyMismatch},
		{"from another currency", order(euro, grace, 1, "k"), transfers.ErrCurrencyMismatch},
		{"memo with zeros", long, transfers.ErrInvalidMemo},
	} {
		if _, err := b.send(c.order); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if r := b.mustSend(order(ada, grace, 1, "k"), 201); r.Replayed {
		t.Error("an error took the key")
	}
	b.wantBalance(ada, 999)
}

func TestRefusalIsReplayedAfterATopUp(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(100), b.open(1000)
	first := b.mustSend(order(ada, grace, 500, "k"), 422)
	b.mustSend(order(grace, ada, 900, "top up"), 201)
	again := b.mustSend(order(ada, grace, 500, "k"), 422)
	if first.Replayed || !again.Replayed || !bytes.Equal(first.Body, again.Body) {
		t.Errorf("%+v, then %+v", first, again)
	}
	b.mustSend(order(ada, grace, 500, "k2"), 201)
	b.wantBalance(ada, 500)
}

func TestUsersAndScopesHaveKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(100), b.open(100)
	b.mustSend(order(ada, grace, 10, "k"), 201)
	if r := b.mustSend(order(grace, ada, 20, "k"), 201); r.Replayed {
		t.Error("another user's key was replayed")
	}
	other := order(ada, grace, 30, "k")
	other.Scope = "POST /elsewhere"
	if r := b.mustSend(other, 201); r.Replayed {
		t.Error("another scope's key was replayed")
	}
	b.wantBalance(ada, 80)
}

func TestFrozenAccountsNeitherSendNorReceive(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(100), b.open(100)
	if err := b.SetStatus(t.Context(), ada.account, transfers.Frozen); err != nil {
		t.Fatal(err)
	}
	out := b.mustSend(order(ada, grace, 1, "out"), 422)
	in := b.mustSend(order(grace, ada, 1, "in"), 422)
	if !bytes.Contains(out.Body, []byte(transfers.ErrAccountFrozen.Error())) || !bytes.Contains(in.Body, []byte(transfers.ErrRecipientFrozen.Error())) {
		t.Errorf("out: %s, in: %s", out.Body, in.Body)
	}
	if err := b.SetStatus(t.Context(), ada.account, transfers.Active); err != nil {
		t.Fatal(err)
	}
	if r := b.mustSend(order(ada, grace, 1, "out"), 422); !r.Replayed {
		t.Error("the stored refusal was judged again")
	}
	b.mustSend(order(ada, grace, 1, "out2"), 201)
	if err := b.SetStatus(t.Context(), transfers.AccountID(id.New()), transfers.Frozen); !errors.Is(err, transfers.ErrAccountNotFound) {
		t.Errorf("freezing nothing: %v", err)
	}
}

// The status is read under the lock: an order that waits for an account meets what the lock's holder did to it.
func TestStatusIsReadUnderTheLock(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(100), b.open(100)
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), `UPDATE accounts SET status = 'frozen' WHERE id = $1`, ada.account); err != nil {
		t.Fatal(err)
	}
	answered := make(chan transfers.Receipt)
	go func() {
		r, _ := b.send(order(ada, grace, 1, "k"))
		answered <- r
	}()
	b.awaitLockWait()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-answered; r.Status != 422 {
		t.Errorf("status %d, want 422", r.Status)
	}
}

func TestOppositeTransfersDoNotDeadlock(t *testing.T) {
	t.Parallel()
	var log mishaps
	b := openBank(t, log.options())
	ada, grace := b.open(100_000), b.open(100_000)
	within(t, 10*time.Second, func() {
		parallel(400, func(i int) {
			from, to := ada, grace
			if i%2 == 1 {
				from, to = to, from
			}
			b.mustSend(order(from, to, 7, fmt.Sprint("k", i)), 201)
		})
	})
	b.wantBalance(ada, 100_000)
	b.wantBalance(grace, 100_000)
	log.wantNone(t)
	b.wantNoDeadlock()
}

func TestBalanceIsSpentOnce(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(100), b.open(0)
	var paid, refused atomic.Int32
	parallel(50, func(i int) {
		r, err := b.send(order(ada, grace, 10, fmt.Sprint("k", i)))
		switch {
		case err == nil && r.Status == 201:
			paid.Add(1)
		case err == nil && r.Status == 422:
			refused.Add(1)
		default:
			t.Errorf("%+v, %v", r, err)
		}
	})
	if paid.Load() != 10 || refused.Load() != 40 {
		t.Errorf("%d paid and %d refused, want 10 and 40", paid.Load(), refused.Load())
	}
	b.wantBalance(ada, 0)
	b.wantBalance(grace, 100)
}

func TestManySendersToOneReceiver(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	grace := b.open(0)
	senders := make([]holder, 50)
	for i := range senders {
		senders[i] = b.open(1000)
	}
	parallel(50, func(i int) { b.mustSend(order(senders[i], grace, transfers.Amount(i+1), "k"), 201) })
	b.wantBalance(grace, 50*51/2)
	entries, more, err := b.Entries(t.Context(), grace.owner, grace.account, transfers.Page{Limit: 100})
	if err != nil || more || len(entries) != 50 {
		t.Fatalf("%d entries, more %v, %v", len(entries), more, err)
	}
	for i, e := range entries {
		if want := int64(50 - i); e.Sequence != want {
			t.Errorf("entry %d has sequence %d, want %d", i, e.Sequence, want)
		}
	}
}
