package client

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter reads how long an answer asks its receiver to wait (RFC 9110, 10.2.3). ok is false if it does not say, or
// says what cannot be understood.
//
// Digits are seconds; as many as a Duration cannot hold are the longest Duration. A date, in any of HTTP's three forms,
// counts from the answer's own Date, so that a wrong clock on either side does no harm; now stands in where that is
// missing. A date in the past is no wait at all.
func RetryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	lines := h["Retry-After"]
	if len(lines) != 1 {
		return 0, false
	}
	value := strings.Trim(lines[0], " \t")
	if digits(value) {
		return wholeSeconds(value), true
	}
	until, ok := httpDate(value)
	if !ok {
		return 0, false
	}
	if sent, ok := httpDate(strings.Trim(h.Get("Date"), " \t")); ok {
		now = sent
	}
	return max(0, until.Sub(now)), true
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// wholeSeconds reads digits, saturating.
func wholeSeconds(s string) time.Duration {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > math.MaxInt64/int64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(n) * time.Second
}

// httpDate reads one of HTTP's three forms of a date. They are all in GMT; net/http alone would take EST for GMT.
func httpDate(s string) (time.Time, bool) {
	t, err := http.ParseTime(s)
	if err != nil || strings.Contains(s, ",") && !strings.HasSuffix(s, " GMT") {
		return time.Time{}, false
	}
	return t, true
}
