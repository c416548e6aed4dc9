package lab

import (
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

func TestParseLimit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ratelimit.Limit{
		"10/10s":             {Quota: 10, Period: 10 * time.Second},
		"100/min":            {Quota: 100, Period: time.Minute},
		"5/s":                {Quota: 5, Period: time.Second},
		"1000/day":           {Quota: 1000, Period: 24 * time.Hour},
		"10/1s burst 20":     {Quota: 10, Period: time.Second, Burst: 20},
		" 10 / 1s  burst 20": {Quota: 10, Period: time.Second, Burst: 20},
		"10/1m30s":           {Quota: 10, Period: 90 * time.Second},
		"3/0.5s":             {Quota: 3, Period: 500 * time.Millisecond},
	} {
		if got, err := ParseLimit(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		"":                         "10/10s",
		"10":                       "10/10s",
		"10/":                      "10/10s",
		"-1/s":                     "10/10s",
		"10/10":                    "10/10s",
		"10/10s burst":             "10/10s",
		"10/10s burst 0":           "at least 1",
		"10/fortnight":             "no time",
		"99999999999999999999/10s": "too large",
	} {
		if got, err := ParseLimit(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, %v; want it to say %q", text, got, err, says)
		}
	}
}

func FuzzALimitIsReadAsItIsWritten(f *testing.F) {
	f.Add("10/10s")
	f.Add("100/min burst 5")
	f.Add("1/1.5ms")
	f.Fuzz(func(t *testing.T, text string) {
		limit, err := ParseLimit(text)
		if err != nil {
			return
		}
		if again, err := ParseLimit(FormatLimit(limit)); err != nil || again != limit {
			t.Fatalf("%q is %+v, written %q, read %+v, %v", text, limit, FormatLimit(limit), again, err)
		}
	})
}

func TestParseAlgorithm(t *testing.T) {
	t.Parallel()
	if got, err := ParseAlgorithm("leaky-bucket"); err != nil || got != ratelimit.LeakyBucket {
		t.Error(got, err)
	}
	if _, err := ParseAlgorithm("bucket"); err == nil || !strings.Contains(err.Error(), "token-bucket, fixed-window") {
		t.Errorf("%v does not say what there is", err)
	}
}

func TestFreeTrafficGivesBurstsOnlyToBuckets(t *testing.T) {
	t.Parallel()
	traffic, err := Burst(20, 2, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	limit := ratelimit.Limit{Quota: 10, Period: 10 * time.Second, Burst: 15}
	got, err := Free("bursts", traffic, limit, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"fixed-window": 30, "sliding-log": 30, "sliding-counter": 20, "token-bucket": 35}
	for name, n := range admitted(got.Runs) {
		if n != want[name] {
			t.Errorf("%s admits %d, want %d", name, n, want[name])
		}
	}
	if _, err := Free("bursts", traffic, limit, []ratelimit.Algorithm{ratelimit.FixedWindow}); err == nil {
		t.Error("a window alone took a burst")
	}
}
