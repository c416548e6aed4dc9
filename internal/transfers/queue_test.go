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
	q.take(nil, atNoon)
	if !q.holds(n) || q.holds(name{key: "other"}) {
		t.Error("does not hold what runs, or something else")
	}
	q.settled(time.Millisecond, true)
	if q.holds(n) {
		t.Error("still holds what is settled")
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
	q.grab(begun)
	late := begun.Add(5 * time.Second)
	if q.push(keyed("k"), late, time.Second) {
		t.Error("behind a batch that has run for 5 s an order with 1 s of patience is taken")
	}
	q.decided(late)
	if !q.push(keyed("k"), late, time.Second) {
		t.Error("behind a batch that is being answered an order with 1 s of patience is refused")
	}
}
