package client

import (
	"math"
	"time"
)

// allowance is what a pacer knows of one policy: at least how many units are free, counted from below. It is pure:
// times come in, and nothing waits here.
//
// An answer says how much was left (r) when the server decided, some time between sending and receipt. Other requests
// of ours may have been charged since: those still out, and those answered after this one was sent. What is left after
// all of them is free for certain. So was what the answers before said. The larger of the two is the estimate, and never
// more than r, which is what others that share the limit leave us.
//
// How units come back is not said, so it is found out (classify): the end of a window stays where it is while units are
// spent, the t of a bucket follows r.
//
//	a bucket     q units flow back in w, evenly
//	a window     nothing until its end; then one request goes first, and its answer tells how much came back
//	not known    whatever is later, one request first
type allowance struct {
	quota  float64       // units
	window time.Duration // in which so many are allowed

	left    float64   // free at `at`, less what has been charged since; may be below zero
	at      time.Time // zero: nothing is known yet
	until   time.Time // a window gives nothing back before
	pending float64   // charged for requests that are not answered
	done    float64   // charged for all that are

	noBucket, noWindow bool      // what an answer has contradicted
	seen               time.Time // when the last answer came
	earliest, latest   time.Time // if this is a window, it ends in between
}

func (a *allowance) bucket() bool { return a.noWindow && !a.noBucket && a.flows() }

// flows reports whether it is said how fast units come back, if they do so evenly.
func (a *allowance) flows() bool { return a.quota > 0 && a.window > 0 }

// slack is added to waits: clocks round, and an instant too early costs a refusal.
const slack = time.Millisecond

// settle lets units flow back into a bucket until now. While requests are out that it has not seen yet, a bucket may be
// full, and what would have flowed in by then is lost.
func (a *allowance) settle(now time.Time) {
	if passed := now.Sub(a.at); passed > 0 && a.bucket() {
		a.left = min(a.quota-a.pending, a.left+a.quota*(float64(passed)/float64(a.window)))
		a.at = now
	}
}

// wait is how long until a request of this cost may go: 0 means now, and forever means after the next answer.
func (a *allowance) wait(now time.Time, cost float64) time.Duration {
	if a.at.IsZero() {
		return 0
	}
	a.settle(now)
	cost = min(cost, a.quota) // more than the policy can ever hold: the server shall say so
	if cost <= 0 || a.left >= cost {
		return 0
	}
	wait := max(0, a.until.Sub(now))
	if !a.noBucket || a.noWindow {
		flow := max(0, a.flow(cost-a.left)+a.at.Sub(now))
		if a.bucket() {
			return flow
		}
		wait = max(wait, flow)
	}
	if wait == 0 && a.pending > 0 {
		return forever
	}
	return wait
}

// flow is how long a bucket takes to regain so many units.
func (a *allowance) flow(units float64) time.Duration {
	if !a.flows() {
		return 0
	}
	return time.Duration(min(math.Ceil(units/a.quota*float64(a.window)), float64(forever/2))) + slack
}

const forever = time.Duration(math.MaxInt64)

// charge takes the cost of a request that is about to be sent. It returns what answered wants back.
func (a *allowance) charge(now time.Time, cost float64) (mark float64) {
	a.settle(now)
	a.left -= cost
	a.pending += cost
	return a.done
}

// answered is for each charge, with or without news.
func (a *allowance) answered(now time.Time, cost float64) {
	a.settle(now)
	a.pending -= cost
	a.done += cost
}

// learn takes in what an answer said, after answered. c is its charge.
func (a *allowance) learn(l Left, sent, now time.Time, c charge, refused bool) {
	r := float64(l.Units)
	certain := r - a.pending - (a.done - c.cost - c.mark)
	if a.at.IsZero() {
		a.left = certain
	}
	a.settle(now)
	a.left = min(max(a.left, certain), r)
	a.at = now.Add(slack)
	t := min(l.Window, forever/2)
	if t <= 0 {
		t = time.Second
	}
	if end := now.Add(t + slack); end.After(a.until) || !sent.Before(a.seen) { // else it may be the older news
		a.until = end
	}
	if !refused && l.Window > 0 {
		a.noBucket = a.noBucket || !a.fitsBucket(r, t)
		a.noWindow = a.noWindow || !a.fitsWindow(sent, now, t)
	}
	a.seen = now
}

// fitsBucket reports whether t can be the time in which r units flow into a bucket, rounded up. How fast they flow is
// known from w, which is rounded up too.
func (a *allowance) fitsBucket(r float64, t time.Duration) bool {
	if !a.flows() {
		return false
	}
	const tiny = 1e-9
	full := r / a.quota
	return t.Seconds() >= full*(a.window.Seconds()-1)-tiny && t.Seconds() <= max(1, math.Ceil(full*a.window.Seconds()+tiny))
}

// fitsWindow reports whether this answer can speak of a window, after what the last one said of its end.
func (a *allowance) fitsWindow(sent, now time.Time, t time.Duration) bool {
	earliest, latest := sent.Add(t-time.Second), now.Add(t)
	same := now.Before(a.earliest) && !earliest.Before(a.seen) // neither was over when the other was spoken of
	fits := !same || !earliest.After(a.latest) && !latest.Before(a.earliest)
	switch {
	case same:
		a.earliest, a.latest = later(earliest, a.earliest), earlier(latest, a.latest)
	case !sent.Before(a.seen) || latest.After(a.latest): // else it may be the older news
		a.earliest, a.latest = earliest, latest
	}
	return fits
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
