package telemetry

import (
	"sync"
	"testing"
	"time"
)

func TestSeldomTellsAtOnceAndThenOncePerSecond(t *testing.T) {
	t.Parallel()
	var s Seldom
	start := time.Unix(1000, 0)
	for _, step := range []struct {
		after time.Duration
		thing string
		more  int
		due   bool
	}{
		{0, "a", 0, true},
		{0, "a", 0, false},
		{time.Second - 1, "a", 0, false},
		{time.Second - 1, "b", 0, true}, // its own time
		{time.Second, "a", 2, true},
		{2*time.Second - 1, "a", 0, false},
		{time.Hour, "a", 1, true},
	} {
		if more, due := s.Due(start.Add(step.after), step.thing); more != step.more || due != step.due {
			t.Errorf("after %v, %s: %d, %v; want %d, %v", step.after, step.thing, more, due, step.more, step.due)
		}
	}
}

func TestSeldomLosesCountOfNothing(t *testing.T) {
	t.Parallel()
	var s Seldom
	var work sync.WaitGroup
	for range 100 {
		work.Go(func() { s.Due(time.Unix(1000, 0), "a") })
	}
	work.Wait()
	if more, due := s.Due(time.Unix(1001, 0), "a"); more != 99 || !due {
		t.Errorf("%d, %v; want 99 held back", more, due)
	}
}
