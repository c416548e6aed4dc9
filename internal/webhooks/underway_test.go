package webhooks

import (
	"testing"

	"example.com/bankapi/internal/id"
)

// TestAnOldListTakesNothingUpTwice: a delivery ends between the reading of what is due and its being taken up.
func TestAnOldListTakesNothingUpTwice(t *testing.T) {
	t.Parallel()
	var u underWay
	n := name{hook: id.New(), transfer: id.New()}
	u.look() // the list that is read now has n
	if !u.begin(n) || u.begin(n) {
		t.Error("a delivery was not taken up once")
	}
	u.look() // and the next one, because it is still being sent
	u.end(n)
	if u.begin(n) {
		t.Error("taken up again from a list that was read before its end")
	}
	u.look()
	if !u.begin(n) {
		t.Error("what has failed is never taken up again")
	}
}
