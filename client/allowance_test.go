package client

import (
	"testing"
	"time"
)

func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

// told takes in an answer to a request that has been charged nothing.
func (a *allowance) told(sent, now float64, units int64, t time.Duration) {
	a.learn(Left{Units: units, Window: t}, at(sent), at(now), charge{mark: a.done}, false)
}

// aBucket is 10 units at 2/s, known to be one, with r units left at 0.
func aBucket(r int64) *allowance {
	a := &allowance{quota: 10, window: 5 * time.Second, noWindow: true}
	a.told(0, 0, r, time.Duration(r+1)/2*time.Second)
	return a
}

func TestAllowanceCountsNoUnitsThatAFullBucketLoses(t *testing.T) {
	t.Parallel()
	a := aBucket(10)
	mark := a.charge(at(10), 5) // arrives at 12, and until then the bucket is full
	other := a.charge(at(10), 1)
	a.answered(at(12), 5)
	a.learn(Left{Units: 5, Window: 3 * time.Second}, at(10), at(12), charge{cost: 5, mark: mark}, false)
	if a.left != 4 {
		t.Errorf("one of them is answered, 1 is still out: %v are free, want 4", a.left)
	}
	a.answered(at(12), 1)
	a.learn(Left{Units: 4, Window: 2 * time.Second}, at(10), at(12), charge{cost: 1, mark: other}, false)
	if a.left != 4 {
		t.Errorf("both are answered: %v are free, want 4", a.left)
	}
}

func TestAllowanceOfABurstIsExactWhateverTheOrderOfItsAnswers(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int64{{9, 8, 7, 6, 5}, {5, 6, 7, 8, 9}, {7, 9, 5, 8, 6}} {
		a := aBucket(10)
		var marks []float64
		for range order {
			marks = append(marks, a.charge(at(0), 1))
		}
		for i, r := range order {
			a.answered(at(0), 1)
			a.learn(Left{Units: r, Window: (time.Duration(r) + 1) / 2 * time.Second}, at(0), at(0), charge{cost: 1, mark: marks[i]}, false)
		}
		if a.left != 5 || a.pending != 0 || !a.bucket() {
			t.Errorf("answers %v: %v left, %v pending, want 5 and 0", order, a.left, a.pending)
		}
	}
}

func TestAllowanceTrustsAnAnswerThatSaysLess(t *testing.T) {
	t.Parallel()
	a := aBucket(10)
	mark := a.charge(at(1), 1)
	a.answered(at(1), 1)
	a.learn(Left{Units: 2, Window: time.Second}, at(1), at(1), charge{cost: 1, mark: mark}, false) // somebody else took 7
	if a.left != 2 {
		t.Errorf("%v left, the server says 2", a.left)
	}
}

// An answer from before the end of a window comes later than one from after it.
func TestAllowanceIsNotMisledByOldNews(t *testing.T) {
	t.Parallel()
	a := &allowance{quota: 20, window: time.Minute}
	a.told(0, 0, 15, 10*time.Second) // the window ends between 9 and 10
	a.told(9.5, 10.5, 1, time.Minute)
	a.told(9, 11, 3, time.Second)
	if a.noWindow || !a.noBucket {
		t.Error("a window was taken for a bucket")
	}
	if wait := a.wait(at(12), 5); wait < 57*time.Second {
		t.Errorf("the window ends at 70: wait %v at 12", wait)
	}
}

func TestAllowanceTellsBucketsFromWindows(t *testing.T) {
	t.Parallel()
	bucket := &allowance{quota: 10, window: 5 * time.Second}
	bucket.told(0, 0, 5, 3*time.Second)
	bucket.told(0, 0, 0, time.Second)
	if !bucket.bucket() {
		t.Error("3 s and at the same moment 1 s are no window, and were not found to be a bucket")
	}
	if got := bucket.wait(at(0), 5); got < 2500*time.Millisecond || got > 2502*time.Millisecond {
		t.Errorf("5 of 10 at 2/s: wait %v", got)
	}
	daily := &allowance{quota: 1000, window: 24 * time.Hour}
	daily.told(0, 0, 640, 30561*time.Second)
	daily.told(5, 5, 639, 30556*time.Second)
	if daily.noWindow || !daily.noBucket {
		t.Error("640 do not flow in within 30,561 s, and this was not found to be a window")
	}
	if got := daily.wait(at(5), 640); got < 30556*time.Second || got > 30557*time.Second {
		t.Errorf("640 with 639 left: wait %v", got)
	}
}
