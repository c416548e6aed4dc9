package transfers

import (
	"testing"
	"time"
)

var noon = time.Date(2026, 9, 24, 12, 0, 0, 0, time.UTC)

func atNoon() time.Time { return noon }

func keyed(key string) *request {
	return &request{order: Order{Key: key}, done: make(chan struct{})}
}

func TestQueueGivesBatchesInOrderOfArrival(t *testing.T) {
	t.Parallel()
	q := newQueue(5, 3)
	var want []*request
	for i := range 6 {
		r := keyed("k")
		want = append(want, r)
		if got := q.push(r, noon, 0); got != (i < 5) {
			t.Errorf("push %d: %v", i, got)
		}
	}
	first, second := q.take(nil, atNoon), q.take(nil, atNoon)
	if len(first) != 3 || len(second) != 2 {
		t.Fatalf("batches of %d and %d, want 3 and 2", len(first), len(second))
	}
	for i, r := range append(first, second...) {
		if r != want[i] {
			t.Errorf("request %d is out of order", i)
		}
	}
}

func TestQueueRefusesWhatCannotMakeItsDeadline(t *testing.T) {
	t.Parallel()
	q := newQueue(100, 1)
	q.pace = 10 * time.Millisecond
	steps := []struct {
		patience time.Duration
		want     bool
	}{
		{time.Nanosecond, true}, // nothing is ahead
		{-1, false},             // its deadline has passed
		{9 * time.Millisecond, false},
		{10 * time.Millisecond, true},
		{19 * time.Millisecond, false},
		{0, true},
	}
	for i, s := range steps {
		if got := q.push(keyed("k"), noon, s.patience); got != s.want {
			t.Errorf("step %d: patience %v: %v", i, s.patience, got)
		}
	}
	q.take(nil, atNoon)
	if got, want := q.wait(noon), 30*time.Millisecond; got != want { // one runs, two wait
		t.Errorf("wait %v, want %v", got, want)
	}
	if got, want := q.wait(noon.Add(time.Second)), 3*time.Second; got != want { // the running one is stuck
		t.Errorf("wait behind a stuck batch: %v, want %v", got, want)
	}
}

func TestAfterAnOutageTheFirstArrivalIsLetIn(t *testing.T) {
	t.Parallel()
	q := newQueue(10, 10)
	q.pace = time.Hour
	if !q.push(keyed("k"), noon, time.Millisecond) {
		t.Error("an idle queue refused")
	}
}

func TestWithdrawnRequestsAreNotTaken(t *testing.T) {
	t.Parallel()
	q := newQueue(10, 10)
	stays, goes := keyed("stays"), keyed("goes")
	q.push(goes, noon, 0)
	q.push(stays, noon, 0)
	if !q.withdraw(goes) || q.withdraw(goes) {
		t.Error("a waiting request can be withdrawn, once")
	}
	if batch := q.take(nil, atNoon); len(batch) != 1 || batch[0] != stays {
		t.Errorf("took %v", batch)
	}
	if q.withdraw(stays) {
		t.Error("a running request was withdrawn")
	}
}

func TestQueueHoldsWhatWaitsAndWhatRuns(t *testing.T) {
	t.Parallel()
	q := newQueue(10, 10)
	n := name{key: "k"}
	if q.holds(n) {
		t.Error("holds nothing yet")
	}
	q.push(keyed("k"), noon, 0)
	if !q.holds(n) {
		t.Error("does not hold what waits")
	}
	running := q.take(nil, atNoon)
	if !q.holds(n) || q.holds(name{key: "other"}) {
		t.Error("does not hold what runs, or something else")
	}
	q.push(keyed("next"), noon, 0)
	if q.follow(1); !q.holds(name{key: "next"}) {
		t.Error("does not hold what follows")
	}
	q.settled(running, noon, true)
	if q.holds(n) || !q.holds(name{key: "next"}) {
		t.Error("still holds what is settled, or not what runs now")
	}
}

func TestWhatFollowsABatchThatFailsWaitsAgainInFront(t *testing.T) {
	t.Parallel()
	q := newQueue(10, 2)
	running, first, second, third := keyed("running"), keyed("first"), keyed("second"), keyed("third")
	q.push(running, noon, 0)
	q.take(nil, atNoon)
	for _, r := range []*request{first, second, third} {
		q.push(r, noon, 0)
	}
	following := q.follow(1)
	if got := q.wait(noon.Add(time.Second)); got != 2*time.Second {
		t.Errorf("behind one that runs, two that follow and one that waits: %v, want 2 s", got)
	}
	q.putBack(following)
	q.settled([]*request{running}, noon, false)
	if got := q.take(nil, atNoon); len(got) != 2 || got[0] != first || got[1] != second {
		t.Errorf("took %v", got)
	}
	if got := q.take(nil, atNoon); len(got) != 1 || got[0] != third {
		t.Errorf("took %v", got)
	}
}

// TestABatchTakenApartRunsUntilItsLastOrder settles the orders of a batch one by one.
func TestABatchTakenApartRunsUntilItsLastOrder(t *testing.T) {
	t.Parallel()
	q := newQueue(10, 2)
	q.push(keyed("first"), noon, 0)
	q.push(keyed("second"), noon, 0)
	batch := q.take(nil, atNoon)
	q.settled(batch[:1], noon, false)
	if q.holds(name{key: "first"}) || !q.holds(name{key: "second"}) {
		t.Error("holds the first, or not the second")
	}
	q.settled(batch[1:], noon, false)
	if q.holds(name{key: "second"}) {
		t.Error("still holds the second")
	}
}

func TestClosedQueueGivesTheRestAndThenNothing(t *testing.T) {
	t.Parallel()
	q := newQueue(10, 2)
	for range 3 {
		q.push(keyed("k"), noon, 0)
	}
	stop := make(chan struct{})
	close(stop)
	for _, want := range []int{2, 1, 0} {
		if got := len(q.take(stop, atNoon)); got != want {
			t.Errorf("took %d, want %d", got, want)
		}
	}
	if q.push(keyed("late"), noon, 0) {
		t.Error("a closed queue accepted")
	}
}

// TestWhoHearsTheAnswerOfASlowBatchMaySendAtOnce meets the moment between an answer and the end of its batch.
func TestWhoHearsTheAnswerOfASlowBatchMaySendAtOnce(t *testing.T) {
	t.Parallel()
	begun := atNoon()
	q := newQueue(10, 10)
	q.push(keyed("k"), begun, time.Second)
	running := q.grab(begun)
	late := begun.Add(5 * time.Second)
	if q.push(keyed("k"), late, time.Second) {
		t.Error("behind a batch that has run for 5 s an order with 1 s of patience is taken")
	}
	q.settled(running, late, true)
	if !q.push(keyed("k"), late, time.Second) {
		t.Error("behind a batch that is being answered an order with 1 s of patience is refused")
	}
}
