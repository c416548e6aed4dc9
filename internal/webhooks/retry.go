package webhooks

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

const (
	longestBackoff    = 6 * time.Hour
	longestRetryAfter = 24 * time.Hour // a partner that asks for more is asked again by then
)

// backoff is the wait after so many failures: first, then four times as long each time, up to six hours.
func backoff(failures int, first time.Duration) time.Duration {
	wait := first
	for range failures - 1 {
		if wait >= longestBackoff/4 {
			return longestBackoff
		}
		wait *= 4
	}
	return min(wait, longestBackoff)
}

// jitter adds up to a fifth, so that what failed together is not sent again together.
func jitter(wait time.Duration) time.Duration {
	return wait + rand.N(wait/5+1) //nolint:gosec // jitter is no secret
}

// retryAfter is how long a partner asked to be left alone; 0 if it did not, or in no form we know.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, longestRetryAfter)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date // both by the partner's clock
	}
	return min(max(at.Sub(now), 0), longestRetryAfter)
}
