package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/id"
	"example.com/bankapi/internal/logtest"
	"example.com/bankapi/internal/webhooks"
)

func TestBothSidesAreTold(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace, eve := b.holder(), b.holder(), b.holder()
	s, _ := b.run(quick())
	p := newPartner(t, nil)
	_, adas := b.hook(s, ada, p.URL+"/ada")
	_, graces := b.hook(s, grace, p.URL+"/grace")
	b.hook(s, eve, p.URL+"/eve")
	event := b.send(ada, grace, 125)

	calls := p.await(2)
	slices.SortFunc(calls, func(a, b call) int { return strings.Compare(a.path, b.path) })
	for i, secret := range []string{adas, graces} {
		c := calls[i]
		if want := []string{"/ada", "/grace"}[i]; c.path != want || c.event() != event {
			t.Errorf("call %d: %s with %s, want %s with %s", i, c.path, c.event(), want, event)
		}
		verify(t, c, secret)
	}
	body := decode(t, calls[0].body)
	data, _ := body["data"].(map[string]any)
	created, _ := data["created_at"].(string)
	want := map[string]any{"type": "transfer.completed", "timestamp": created, "data": map[string]any{
		"id": "tr" + strings.TrimPrefix(event, "evt"), "from_account": ada.account.String(), "to_account": grace.account.String(),
		"amount": 125.0, "currency": "NGN", "memo": "", "status": "completed", "created_at": created,
	}}
	if diff := cmp.Diff(want, body); diff != "" || !strings.HasSuffix(created, "Z") {
		t.Error(diff)
	}
	eventually(t, "end of the deliveries", func() bool { return b.count("webhook_deliveries") == 0 })
	if n := len(p.heard()); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}

func TestWhatWasBeforeTheHookIsNotTold(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace := b.holder(), b.holder()
	s, _ := b.run(quick())
	p := newPartner(t, nil)
	b.send(ada, grace, 1)
	b.hook(s, ada, p.URL)
	want := b.send(ada, grace, 2)
	if got := p.await(1)[0].event(); got != want {
		t.Errorf("told of %s, want %s only", got, want)
	}
}

// TestNeverFasterThanThePartnersRate measures at the partner, whom two customers' hooks and two processes reach.
func TestNeverFasterThanThePartnersRate(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace := b.holder(), b.holder()
	opts := quick()
	opts.Rate = 0 // five a second
	const interval = 200 * time.Millisecond
	s, _ := b.run(opts)
	b.run(opts) // one more process
	p := newPartner(t, func(w http.ResponseWriter, n int) {
		if n%5 == 0 { // repetitions count too
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	b.hook(s, ada, p.URL+"/ada")
	b.hook(s, grace, p.URL+"/grace")
	for range 10 {
		b.send(ada, grace, 1)
	}
	eventually(t, "end of the deliveries", func() bool { return b.count("webhook_deliveries") == 0 && len(p.heard()) >= 20 })
	calls := p.heard()
	if n := len(calls); n < 24 || n > 26 {
		t.Errorf("%d calls, want 20 and the repetitions", n)
	}
	// A busy machine may stamp a call late, and the next one is then too near. That the Shaper lets nobody leave early is
	// shown to the nanosecond by its own tests, in virtual time.
	const slack = 150 * time.Millisecond
	for i := range calls {
		for j := i + 1; j < len(calls); j++ {
			if span, least := calls[j].at.Sub(calls[i].at), time.Duration(j-i)*interval; span < least-slack {
				t.Fatalf("calls %d to %d took %v, want at least %v", i, j, span, least)
			}
		}
	}
	t.Logf("%d calls in %v", len(calls), calls[len(calls)-1].at.Sub(calls[0].at))
}

// TestARestartInMidDeliveryLosesNothing stops the sender while the partner is taking a request, again and again.
func TestARestartInMidDeliveryLosesNothing(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace := b.holder(), b.holder()
	restart := make(chan struct{}, 1)
	p := newPartner(t, func(w http.ResponseWriter, n int) {
		if n%4 == 1 {
			select {
			case restart <- struct{}{}:
			default:
			}
			time.Sleep(20 * time.Millisecond)
			if n%8 == 1 {
				panic(http.ErrAbortHandler) // taken, and the answer lost
			}
		}
	})
	p.Config.ErrorLog = nil
	b.hook(webhooks.New(b.pool, quick()), ada, p.URL)
	var want []string
	for range 30 {
		want = append(want, b.send(ada, grace, 1))
	}
	told := func() map[string]bool {
		events := map[string]bool{}
		for _, c := range p.heard() {
			events[c.event()] = true
		}
		return events
	}
	restarts := 0
	for b.count("webhook_deliveries") > 0 || len(told()) < len(want) {
		_, stop := b.run(quick())
		select {
		case <-restart:
			restarts++
		case <-time.After(300 * time.Millisecond):
		}
		stop()
	}
	events := told()
	for _, event := range want {
		if !events[event] {
			t.Errorf("%s was lost", event)
		}
	}
	if restarts < 3 {
		t.Errorf("%d restarts in mid-delivery: the test shows too little", restarts)
	}
	t.Logf("%d calls for %d events over %d restarts", len(p.heard()), len(want), restarts)
}

// TestAKilledSenderIsReplaced cuts the connections of whoever sends, as a crash does.
func TestAKilledSenderIsReplaced(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace := b.holder(), b.holder()
	log := &logtest.Buffer{}
	opts := quick()
	opts.Log = log.Logger()
	s, _ := b.run(opts)
	b.run(opts)
	p := newPartner(t, nil)
	b.hook(s, ada, p.URL)
	b.send(ada, grace, 1)
	p.await(1)
	b.exec(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	eventually(t, "warning", func() bool { return strings.Contains(log.String(), "sending was interrupted") })
	b.send(ada, grace, 1)
	p.await(2)
}

// TestTransactionsThatCommitOutOfOrder: the transfer with the lower id and the lower transaction commits last. A reader that
// remembers the last id seen would never see it.
func TestTransactionsThatCommitOutOfOrder(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace, eve, mallory := b.holder(), b.holder(), b.holder(), b.holder()
	s, _ := b.run(quick())
	p := newPartner(t, nil)
	b.hook(s, ada, p.URL)
	b.hook(s, eve, p.URL)
	before := b.send(ada, grace, 1) // and the reader is up
	p.await(1)

	late, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer late.Rollback(context.Background())
	slow := id.New()
	if _, err := late.Exec(t.Context(), `
INSERT INTO transfers (id, from_account, to_account, amount, currency, from_sequence, from_balance, to_sequence, to_balance, created_at)
SELECT $1, f.id, t.id, 5, 'NGN', f.sequence + 1, f.balance - 5, t.sequence + 1, t.balance + 5, now()
FROM accounts AS f, accounts AS t
WHERE f.id = $2 AND t.id = $3`, slow, ada.account, grace.account); err != nil {
		t.Fatal(err)
	}
	quickOne := b.send(eve, mallory, 7)
	time.Sleep(300 * time.Millisecond) // many looks
	if n := len(p.heard()); n != 1 {
		t.Errorf("%d calls while an earlier transaction is open, want 1", n)
	}
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range p.await(3) {
		got = append(got, c.event())
	}
	slices.Sort(got[1:])
	want := []string{before, slow.Encode("evt"), quickOne}
	slices.Sort(want[1:])
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace := b.holder(), b.holder()
	s, _ := b.run(quick())
	p := newPartner(t, func(w http.ResponseWriter, n int) {
		if n == 1 {
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	b.hook(s, ada, p.URL)
	for range 3 {
		b.send(ada, grace, 1)
	}
	calls := p.await(4)
	answered := calls[0].at
	early := 0
	for _, c := range calls[1:] {
		if c.at.Sub(answered) < 2*time.Second {
			early++
		}
	}
	if early > 1 { // one may have been under way
		t.Errorf("%d calls before Retry-After was over", early)
	}
}

func TestFailuresAreRepeatedWithTheSameIDAndThenGivenUp(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace := b.holder(), b.holder()
	log := &logtest.Buffer{}
	opts := quick()
	opts.MaxAttempts, opts.Log = 3, log.Logger()
	s, _ := b.run(opts)
	p := newPartner(t, func(w http.ResponseWriter, _ int) { http.Redirect(w, nilRequest, "/elsewhere", http.StatusFound) })
	_, secret := b.hook(s, ada, p.URL)
	event := b.send(ada, grace, 1)
	calls := p.await(3)
	for _, c := range calls {
		if c.event() != event || string(c.body) != string(calls[0].body) || c.path != "/" {
			t.Errorf("a repetition differs: %s %s %s", c.path, c.event(), c.body)
		}
		verify(t, c, secret)
	}
	eventually(t, "delivery given up", func() bool { return b.count("webhook_deliveries WHERE dead_at IS NOT NULL AND attempts = 3") == 1 })
	eventually(t, "warning", func() bool { return strings.Contains(log.String(), "delivery given up") })
	time.Sleep(100 * time.Millisecond)
	if n := len(p.heard()); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
	if strings.Contains(log.String(), secret) {
		t.Error("the secret is in the log")
	}
	if n, err := s.Purge(t.Context(), 10); n != 0 || err != nil {
		t.Errorf("purged %d, %v; want 0 in the first week", n, err)
	}
	b.exec(`UPDATE webhook_deliveries SET dead_at = now() - interval '8 days'`)
	if n, err := s.Purge(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("purged %d, %v; want 1", n, err)
	}
}

var nilRequest, _ = http.NewRequest(http.MethodGet, "/", nil)

func TestADeadPartnerHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace := b.holder(), b.holder()
	s, _ := b.run(quick())
	gone := make(chan struct{})
	dead := newPartner(t, func(http.ResponseWriter, int) { <-gone })
	t.Cleanup(func() { close(gone) })
	p := newPartner(t, nil)
	b.hook(s, ada, dead.URL)
	b.hook(s, ada, p.URL)
	for range 40 {
		b.send(ada, grace, 1)
	}
	start := time.Now()
	p.await(40)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the living waited %v for the dead", took)
	}
}

func TestHooksAreTheirOwnersAndBounded(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace := b.holder(), b.holder()
	s := webhooks.New(b.pool, quick())
	owner := webhooks.OwnerID(ada.owner)
	var wg sync.WaitGroup
	var mu sync.Mutex
	made, refused := 0, 0
	for i := range 15 {
		wg.Go(func() {
			_, _, err := s.Create(t.Context(), owner, fmt.Sprintf("https://example.com/%d", i))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				made++
			case errors.Is(err, webhooks.ErrTooManyWebhooks):
				refused++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if made != webhooks.MaxHooks || refused != 5 {
		t.Errorf("%d made, %d refused; want %d and 5", made, refused, webhooks.MaxHooks)
	}
	hooks, err := s.List(t.Context(), owner)
	if err != nil || len(hooks) != webhooks.MaxHooks {
		t.Fatalf("%d hooks, %v", len(hooks), err)
	}
	if err := s.Delete(t.Context(), webhooks.OwnerID(grace.owner), hooks[0].ID); !errors.Is(err, webhooks.ErrWebhookNotFound) {
		t.Errorf("another's hook: %v, want ErrWebhookNotFound", err)
	}
	for _, want := range []error{nil, webhooks.ErrWebhookNotFound} {
		if err := s.Delete(t.Context(), owner, hooks[0].ID); !errors.Is(err, want) {
			t.Errorf("delete: %v, want %v", err, want)
		}
	}
}
