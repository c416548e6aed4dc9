package client

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 9, 24, 12, 0, 0, 0, time.UTC)

func TestRetryAfterUnderstandsWhatHTTPAllowsAndNothingElse(t *testing.T) {
	t.Parallel()
	const absent = -1
	for _, tt := range []struct {
		value, date string
		want        time.Duration
	}{
		{"3", "", 3 * time.Second},
		{" 3\t", "", 3 * time.Second},
		{"0", "", 0},
		{"007", "", 7 * time.Second},
		{"9223372036", "", 9223372036 * time.Second},
		{"9223372037", "", math.MaxInt64},
		{"99999999999999999999999999", "", math.MaxInt64},

		{"Thu, 24 Sep 2026 12:00:05 GMT", "", 5 * time.Second},
		{"Thursday, 24-Sep-26 12:00:05 GMT", "", 5 * time.Second},
		{"Thu Sep 24 12:00:05 2026", "", 5 * time.Second},
		{"Thu, 24 Sep 2026 12:00:05 GMT", "Thu, 24 Sep 2026 12:00:02 GMT", 3 * time.Second},
		{"Thu, 24 Sep 2026 12:00:05 GMT", "Thu, 24 Sep 2020 12:00:05 GMT", 6*365.25*24*time.Hour - 12*time.Hour},
		{"Thu, 24 Sep 2026 12:00:05 GMT", "yesterday", 5 * time.Second},
		{"Thu, 24 Sep 2026 11:59:59 GMT", "", 0},
		{"Fri, 31 Dec 9999 23:59:59 GMT", "", math.MaxInt64},

		{"", "", absent},
		{"-1", "", absent},
		{"+1", "", absent},
		{"1.5", "", absent},
		{"1e3", "", absent},
		{"3s", "", absent},
		{"0x10", "", absent},
		{"3, 5", "", absent},
		{"٣", "", absent},
		{"soon", "", absent},
		{"Thursday, 24-Sep-26 12:00:05 EST", "", absent},
		{"2026-09-24T12:00:05Z", "", absent},
	} {
		h := http.Header{"Retry-After": {tt.value}}
		if tt.date != "" {
			h.Set("Date", tt.date)
		}
		got, ok := RetryAfter(h, noon)
		if !ok {
			got = absent
		}
		if got != tt.want {
			t.Errorf("Retry-After: %s, Date: %s: got %v, want %v", tt.value, tt.date, got, tt.want)
		}
	}
	for _, lines := range [][]string{nil, {"3", "5"}} {
		if got, ok := RetryAfter(http.Header{"Retry-After": lines}, noon); ok {
			t.Errorf("%d lines: got %v, want absent", len(lines), got)
		}
	}
}

// Whatever arrives, the wait is not negative, digits are never understood as fewer seconds than they say, and a date is
// never understood as earlier than it is.
func FuzzRetryAfterIsNeverShort(f *testing.F) {
	for _, seed := range []string{"3", "0", "99999999999999999999", "Thu, 24 Sep 2026 12:00:05 GMT", "Thursday, 24-Sep-26 12:00:05 GMT", "-1", "x"} {
		f.Add(seed, "Thu, 24 Sep 2026 12:00:02 GMT")
	}
	f.Fuzz(func(t *testing.T, value, date string) {
		got, ok := RetryAfter(http.Header{"Retry-After": {value}, "Date": {date}}, noon)
		if got < 0 || !ok && got != 0 {
			t.Fatalf("%q: %v, %v", value, got, ok)
		}
		if n, err := strconv.ParseUint(strings.Trim(value, " \t"), 10, 64); err == nil {
			if !ok || got != math.MaxInt64 && got != time.Duration(n)*time.Second {
				t.Fatalf("%q: %v, %v", value, got, ok)
			}
		}
		if until, err := http.ParseTime(value); ok && err == nil && date == "" && noon.Add(got).Before(until) && got != math.MaxInt64 {
			t.Fatalf("%q: %v is before %v", value, noon.Add(got), until)
		}
	})
}
