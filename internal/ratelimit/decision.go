package ratelimit

import "time"

// Decision is the answer to the claims of one request.
type Decision struct {
	Allowed     bool
	Unavailable bool          // refused because a policy that fails closed could not be asked: 503, not 429
	Claims      []Claim       // what was asked
	Statuses    []Status      // the answers, claim by claim
	Violated    []string      // names of the policies that refused, in the order of the claims
	RetryAfter  time.Duration // refused: the longest wait of those violated, exact; 0 when no waiting helps
	At          time.Time     // when it was decided
	Remembered  bool          // refused by what a store said before (Denials); the others were not asked

	instances int64 // among which a limit is divided where a status is Local
}

// unavailableFor is what a caller is told to wait when a store cannot be asked.
const unavailableFor = time.Second

// Never reports whether the request can never pass because a cost is above its policy's capacity.
func (d *Decision) Never() bool {
	for i := range d.Statuses {
		if st := &d.Statuses[i]; st.Never && !st.Shadow {
			return true
		}
	}
	return false
}

// judge draws the conclusions from the statuses.
func (d *Decision) judge() {
	d.Allowed = true
	for i := range d.Statuses {
		switch st := &d.Statuses[i]; {
		case st.Allowed:
			continue
		case st.Unknown:
			d.Unavailable = true
		default:
			d.Violated = append(d.Violated, d.Claims[i].Policy.Name)
			d.RetryAfter = max(d.RetryAfter, st.Wait)
		}
		d.Allowed = false
	}
	switch {
	case d.Unavailable:
		d.RetryAfter = max(d.RetryAfter, unavailableFor)
	case d.Never():
		d.RetryAfter = 0
	}
}
