package client

import (
	"testing"
	"time"
)

func TestBudgetAllowsNoRetryBelowHalf(t *testing.T) {
	t.Parallel()
	var b Budget
	for n := 1; n <= 5; n++ { // 9, 8, 7, 6, 5
		if !b.Failed() {
			t.Fatalf("failure %d: refused with %d tenths spent", n, b.spent)
		}
	}
	if b.Failed() {
		t.Error("the sixth failure leaves 4 of 10, and was to be repeated")
	}
	for range 19 {
		b.Succeeded()
	}
	if b.Failed() { // 5.9 - 1
		t.Error("4.9 of 10, and it was to be repeated")
	}
	for range 1000 {
		b.Succeeded()
	}
	if b.spent != 0 {
		t.Errorf("a thousand successes leave %d tenths spent", b.spent)
	}
	for range 1000 {
		b.Failed()
	}
	if b.spent != fullBudget {
		t.Errorf("a thousand failures leave %d tenths spent", b.spent)
	}
}

func TestBackoffIsNeverEarlierThanToldAndNeverLeavesItsBounds(t *testing.T) {
	t.Parallel()
	highest := func(n int64) int64 { return n - 1 }
	lowest := func(int64) int64 { return 0 }
	for _, tt := range []struct {
		tries               int
		told                time.Duration
		least, most, jitter time.Duration
	}{
		{1, 0, 0, 200 * time.Millisecond, 0},
		{2, 0, 0, 400 * time.Millisecond, 0},
		{3, 0, 0, 800 * time.Millisecond, 0},
		{6, 0, 0, 6400 * time.Millisecond, 0},
		{7, 0, 0, 10 * time.Second, 0},
		{1 << 30, 0, 0, 10 * time.Second, 0},
		{1, 3 * time.Second, 3 * time.Second, 3 * time.Second, 1500 * time.Millisecond},
		{7, 3 * time.Second, 3 * time.Second, 10 * time.Second, 1500 * time.Millisecond},
		{1, 100 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond},
		{1, time.Hour, time.Hour, time.Hour, 10 * time.Second},
		{1, forever, forever - 10*time.Second, forever - 10*time.Second, 10 * time.Second},
	} {
		if least, jitter := (Backoff{}).wait(tt.tries, tt.told, lowest); least != tt.least || jitter != 0 {
			t.Errorf("after %d tries, told %v: at least %v + %v, want %v + 0", tt.tries, tt.told, least, jitter, tt.least)
		}
		if most, jitter := (Backoff{}).wait(tt.tries, tt.told, highest); most != tt.most || jitter != tt.jitter {
			t.Errorf("after %d tries, told %v: at most %v + %v, want %v + %v", tt.tries, tt.told, most, jitter, tt.most, tt.jitter)
		}
	}
}
