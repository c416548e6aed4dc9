package transfers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/bankapi/internal/transfers"
)

// block locks an account until the returned function is called: whoever needs it waits.
func (b *bank) block(h holder) (release func()) {
	b.t.Helper()
	tx, err := b.pool.Begin(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := tx.Exec(b.t.Context(), `SELECT FROM accounts WHERE id = $1 FOR UPDATE`, h.account); err != nil {
		b.t.Fatal(err)
	}
	release = func() { _ = tx.Rollback(context.Background()) }
	b.t.Cleanup(release)
	return release
}

func TestFullQueueRefusesAtOnceAndLeavesTheKeyFree(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{QueueSize: 2})
	ada, grace := b.open(1000), b.open(0)
	release := b.block(ada)
	answered := make(chan error, 3)
	for i := range 3 {
		go func() {
			_, err := b.send(order(ada, grace, 1, fmt.Sprint("k", i)))
			answered <- err
		}()
		if i == 0 {
			b.awaitLockWait() // the first is being settled, the others wait
		}
	}
	b.awaitInFlight(ada, "k1", "k2")
	within(t, time.Second, func() { b.wantErr(order(ada, grace, 1, "late"), transfers.ErrOverloaded) })
	release()
	for range 3 {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	if r := b.mustSend(order(ada, grace, 1, "late"), 201); r.Replayed {
		t.Error("an overloaded order took its key")
	}
}

func (b *bank) awaitInFlight(h holder, keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		for begun := time.Now(); !b.InFlight(h.owner, scope, key); time.Sleep(time.Millisecond) {
			if time.Since(begun) > 5*time.Second {
				b.t.Fatalf("%q does not get under way", key)
			}
		}
	}
}

func TestTheClientLeaves(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(1000), b.open(0)
	release := b.block(ada)
	running, leave := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		r, err := b.Transfer(running, order(ada, grace, 1, "taken"))
		if err == nil && r.Status != 201 {
			err = fmt.Errorf("status %d", r.Status)
		}
		first <- err
	}()
	b.awaitLockWait()
	leave() // too late to take it back

	waiting, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Transfer(waiting, order(ada, grace, 1, "waits")); !errors.Is(err, transfers.ErrOverloaded) {
		t.Errorf("an order whose time ran out in the queue: %v", err)
	}
	twin, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := b.Transfer(twin, order(ada, grace, 1, "taken"))
	if !errors.Is(err, transfers.ErrKeyInUse) && !errors.Is(err, transfers.ErrOverloaded) {
		t.Errorf("a twin whose time ran out: %v", err)
	}
	release()
	if err := <-first; err != nil {
		t.Errorf("an order that had begun: %v", err)
	}
	if b.InFlight(ada.owner, scope, "waits") {
		t.Error("an order that was taken back is in flight")
	}
	if r := b.mustSend(order(ada, grace, 1, "waits"), 201); r.Replayed {
		t.Error("an order that was taken back was executed")
	}
	b.wantBalance(grace, 2)
}

func TestDatabaseDoesNotAnswer(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{Patience: time.Second})
	ada, grace := b.open(1000), b.open(0)
	release := b.block(ada)
	within(t, 5*time.Second, func() { b.wantErr(order(ada, grace, 1, "k"), transfers.ErrOverloaded) })
	release()
	if r := b.mustSend(order(ada, grace, 1, "k"), 201); r.Replayed {
		t.Error("the key was taken")
	}
}

func TestShutdownAnswersWhatIsQueued(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(1000), b.open(0)
	service := transfers.New(b.pool, transfers.Options{BatchSize: 3})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx) }()
	release := b.block(ada)
	answered := make(chan error, 10)
	for i := range 10 {
		key := fmt.Sprint("k", i)
		go func() {
			_, err := service.Transfer(t.Context(), order(ada, grace, 1, key))
			answered <- err
		}()
		for !service.InFlight(ada.owner, scope, key) {
			time.Sleep(time.Millisecond)
		}
	}
	stop()
	release()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	for range 10 {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	b.wantBalance(grace, 10)
	if _, err := service.Transfer(t.Context(), order(ada, grace, 1, "late")); !errors.Is(err, transfers.ErrOverloaded) {
		t.Errorf("after the end: %v", err)
	}
}
