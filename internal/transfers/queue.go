package transfers

import (
	"slices"
	"sync"
	"time"
)

// request is an order on its way through the batcher.
type request struct {
	order    Order
	place    place         // where it is remembered once it is answered
	attempts []*Receipt    // what attempts that failed would have answered
	settled  bool          // guarded by the queue
	done     chan struct{} // closed once receipt and err are set
	receipt  Receipt
	err      error
}

func (r *request) answer(receipt Receipt, err error) {
	r.receipt, r.err = receipt, err
	close(r.done)
}

// queue holds the requests that wait and those that are being settled. It is bounded and knows how fast it moves.
type queue struct {
	limit int // requests that may wait
	batch int // requests taken at once

	mu        sync.Mutex
	waiting   []*request
	running   []*request
	following []*request    // taken along with the end of those running
	since     time.Time     // when those running began to
	pace      time.Duration // a moving average of how long a batch takes
	closed    bool

	wake chan struct{} // holds one token while the taker may have something to find
}

func newQueue(limit, batch int) *queue {
	return &queue{limit: limit, batch: batch, wake: make(chan struct{}, 1)}
}

// push appends r, or refuses at once if the queue is full or closed, or if r would not be answered within patience.
// A patience of 0 is endless.
func (q *queue) push(r *request, now time.Time, patience time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.waiting) >= q.limit || patience < 0 || patience > 0 && q.wait(now) > patience {
		return false
	}
	q.waiting = append(q.waiting, r)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// wait estimates how long the next arrival waits until its batch begins. Nothing ahead means no wait: after an outage the
// first arrival is let through whatever the pace was, and finds out.
func (q *queue) wait(now time.Time) time.Duration {
	ahead := len(q.waiting) / q.batch
	if len(q.following) > 0 {
		ahead++
	}
	if len(q.running) == 0 {
		return time.Duration(ahead) * q.pace
	}
	return time.Duration(ahead+1) * max(q.pace, now.Sub(q.since))
}

// withdraw takes r back and reports true, unless r is being settled or has been.
func (q *queue) withdraw(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, r)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// take waits for requests and returns all that fit in a batch, in order of arrival. Once stop is closed the queue accepts
// no more; take then returns what is left, and in the end nothing.
func (q *queue) take(stop <-chan struct{}, now func() time.Time) []*request {
	for {
		if batch := q.grab(now()); len(batch) > 0 {
			return batch
		}
		select {
		case <-q.wake:
		case <-stop:
			q.close()
			return q.grab(now())
		}
	}
}

func (q *queue) grab(now time.Time) []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running, q.since = q.shift(), now
	return slices.Clone(q.running)
}

// follow takes, without waiting, the requests that come after those running, if there are at least so many.
func (q *queue) follow(least int) []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) < least {
		return nil
	}
	q.following = q.shift()
	return slices.Clone(q.following)
}

// putBack undoes follow.
func (q *queue) putBack(following []*request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting, q.following = slices.Concat(following, q.waiting), nil
}

// shift removes a batch from those waiting.
func (q *queue) shift() []*request {
	n := min(len(q.waiting), q.batch)
	batch := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return batch
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// settled notes that some of those running are about to be answered: who hears it and sends the next order at once does
// not wait behind a batch that took long. After the last of them those that follow run. swift says that it went through at
// once, so that its time tells the pace.
func (q *queue) settled(batch []*request, now time.Time, swift bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range batch {
		r.settled = true
	}
	q.running = slices.DeleteFunc(q.running, func(r *request) bool { return r.settled })
	if swift {
		q.pace = (3*q.pace + now.Sub(q.since)) / 4
	}
	if len(q.running) == 0 {
		q.running, q.following, q.since = q.following, nil, now
	}
}

// holds reports whether an order of this name is waiting or being settled.
func (q *queue) holds(n name) bool {
	named := func(r *request) bool { return r.order.name() == n }
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.running, named) || slices.ContainsFunc(q.following, named) || slices.ContainsFunc(q.waiting, named)
}
