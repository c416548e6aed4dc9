package lab

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSteadyComesAtEqualDistances(t *testing.T) {
	t.Parallel()
	got, err := Steady(4, time.Second)
	want := []Request{{0, 1}, {250 * time.Millisecond, 1}, {500 * time.Millisecond, 1}, {750 * time.Millisecond, 1}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestBurstComesInClumpsAtTheSameRate(t *testing.T) {
	t.Parallel()
	got, err := Burst(3, 2, 3*time.Second)
	want := slices.Concat(slices.Repeat([]Request{{0, 1}}, 3), slices.Repeat([]Request{{1500 * time.Millisecond, 1}}, 3))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestPoissonKeepsItsRateAndRepeatsItself(t *testing.T) {
	t.Parallel()
	a, err := Poisson(50, 100*time.Second, 7)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := Poisson(50, 100*time.Second, 7)
	other, _ := Poisson(50, 100*time.Second, 8)
	if !cmp.Equal(a, b) || cmp.Equal(a, other) {
		t.Error("the seed does not decide the traffic")
	}
	if n := len(a); n < 4700 || n > 5300 { // 5,000 with a deviation of 71
		t.Errorf("%d requests, want about 5000", n)
	}
	if !slices.IsSortedFunc(a, func(a, b Request) int { return int(a.At - b.At) }) || a[len(a)-1].At >= 100*time.Second {
		t.Error("out of order, or too late")
	}
}

func TestTrafficIsBounded(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func() ([]Request, error){
		"rate 0":        func() ([]Request, error) { return Steady(0, time.Second) },
		"rate NaN":      func() ([]Request, error) { return Poisson(math.NaN(), time.Second, 1) },
		"rate infinite": func() ([]Request, error) { return Steady(math.Inf(1), time.Second) },
		"no time":       func() ([]Request, error) { return Steady(1, 0) },
		"a millennium":  func() ([]Request, error) { return Steady(1e-9, 250*maxTime) },
		"too many":      func() ([]Request, error) { return Poisson(2*maxRequests, time.Second, 1) },
		"empty bursts":  func() ([]Request, error) { return Burst(0, 1, time.Second) },
		"vast bursts":   func() ([]Request, error) { return Burst(maxRequests+1, 1, time.Second) },
	} {
		if got, err := make(); err == nil {
			t.Errorf("%s: %d requests", name, len(got))
		}
	}
	if got, err := Burst(maxRequests, 1e-300, time.Second); err != nil || len(got) != maxRequests {
		t.Errorf("one burst and a next one after all time: %d requests, %v", len(got), err)
	}
}

func TestReadTraffic(t *testing.T) {
	t.Parallel()
	got, err := ReadTraffic(strings.NewReader("# two transfers\n1m30s 5\n\n  0.25\n1ms\t0\n0 5\n"))
	want := []Request{{0, 5}, {time.Millisecond, 0}, {250 * time.Millisecond, 1}, {90 * time.Second, 5}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for text, says := range map[string]string{
		"":                        "one a line",
		"# nothing":               "one a line",
		"1s\nsoon":                "line 2",
		"-1s":                     "line 1",
		"9000h":                   "line 1",
		"1s 5 6":                  "line 1",
		"1s 1.5":                  "line 1",
		"1s -1":                   "line 1",
		"1e3":                     "line 1",
		"1s 99999999999999999999": "line 1",
	} {
		if got, err := ReadTraffic(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func FuzzReadTraffic(f *testing.F) {
	f.Add("0s 5\n0.5\n# x\n1m 0")
	f.Fuzz(func(t *testing.T, text string) {
		traffic, err := ReadTraffic(strings.NewReader(text))
		if err != nil {
			return
		}
		var last time.Duration
		for _, r := range traffic {
			if r.At < last || r.At > maxTime || r.Cost < 0 || r.At%time.Microsecond != 0 {
				t.Fatalf("%+v after %v", r, last)
			}
			last = r.At
		}
	})
}
