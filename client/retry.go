package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Retrier is an [http.RoundTripper] that sends a request again when that is safe and of use.
//
//	sent again            after
//	GET, HEAD             no answer, 408, 429, 502, 503, 504
//	POST with a key       the same, 500, and a 409 that says the key is still in use
//	anything else         nothing
//
// A key is one Idempotency-Key header; each try carries the same one and, by way of GetBody, the same bytes. A request
// whose body cannot be repeated is sent once. Nothing is ever sent while an earlier try is still out.
//
// It waits as Retry-After and Backoff say. When that is longer than MaxWait or the time left to the request's context,
// it does not wait at all: the caller gets the refusal now, with its Retry-After. After the last try the caller gets
// whatever came of it.
//
// The zero value is ready. Once in use its fields must not change; it is safe for concurrent use.
type Retrier struct {
	Base     http.RoundTripper // sends each try; nil means http.DefaultTransport
	Attempts int               // tries in all; 0 means 4
	Backoff  Backoff           // how long to wait where the server does not say
	MaxWait  time.Duration     // the longest wait, before jitter; 0 means 30 s
	Budget   *Budget           // nil means one of its own

	Now   func() time.Time                           // nil means time.Now
	Sleep func(context.Context, time.Duration) error // nil means a timer that ends early with the context
	Rand  func(n int64) int64                        // one of 0..n-1; nil means math/rand

	own Budget
}

var _ http.RoundTripper = (*Retrier)(nil)

// RoundTrip implements [http.RoundTripper].
func (t *Retrier) RoundTrip(req *http.Request) (*http.Response, error) {
	how := repeatable(req)
	for tries := 1; ; tries++ {
		res, err := t.try(req, tries)
		wait, again := t.again(req, how, tries, res, err)
		if !again {
			return res, err
		}
		discard(res)
		if err := t.sleep(req.Context(), wait); err != nil {
			return nil, err
		}
	}
}

// try sends the request for the first time, or a copy of it with its body from the start.
func (t *Retrier) try(req *http.Request, tries int) (*http.Response, error) {
	if tries > 1 {
		copied := req.Clone(req.Context())
		if req.GetBody != nil {
			body, err := req.GetBody()
			if err != nil {
				return nil, err
			}
			copied.Body = body
		}
		req = copied
	}
	res, err := base(t.Base).RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if err := readWhole(res); err != nil {
		return nil, err
	}
	return res, nil
}

// again decides whether to send the request again, and after how long.
func (t *Retrier) again(req *http.Request, how repetition, tries int, res *http.Response, err error) (time.Duration, bool) {
	if tooLong := (*WaitError)(nil); req.Context().Err() != nil || errors.As(err, &tooLong) {
		return 0, false // the caller's decision, and nobody's failure
	}
	budget := t.Budget
	if budget == nil {
		budget = &t.own
	}
	if !failed(res, err) {
		budget.Succeeded()
		return 0, false
	}
	if afford := budget.Failed(); !afford || tries >= t.attempts() || !how.after(res) {
		return 0, false
	}
	return t.wait(req.Context(), tries, res)
}

// wait is how long to wait, unless that is longer than the caller would.
func (t *Retrier) wait(ctx context.Context, tries int, res *http.Response) (time.Duration, bool) {
	now := clock(t.Now)
	var told time.Duration
	if res != nil {
		told, _ = RetryAfter(res.Header, now)
	}
	least, jitter := t.Backoff.wait(tries, told, t.random)
	if least > maxWait(t.MaxWait) {
		return 0, false
	}
	deadline, limited := ctx.Deadline()
	return least + jitter, !limited || now.Add(least+jitter).Before(deadline)
}

func (t *Retrier) attempts() int {
	if t.Attempts == 0 {
		return 4
	}
	return t.Attempts
}

func (t *Retrier) random(n int64) int64 {
	if t.Rand != nil {
		return t.Rand(n)
	}
	return uniform(n)
}

func (t *Retrier) sleep(ctx context.Context, d time.Duration) error {
	if t.Sleep != nil {
		return t.Sleep(ctx, d)
	}
	return sleep(ctx, d)
}

// sleep waits for d, or returns the context's error if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// discard reads what is left of a small body and closes it, so that the connection can be used again.
func discard(res *http.Response) {
	if res != nil {
		_, _ = io.CopyN(io.Discard, res.Body, 64<<10)
		_ = res.Body.Close()
	}
}

func base(t http.RoundTripper) http.RoundTripper {
	if t == nil {
		return http.DefaultTransport
	}
	return t
}

func clock(now func() time.Time) time.Time {
	if now == nil {
		now = time.Now
	}
	return now()
}

func maxWait(d time.Duration) time.Duration {
	if d == 0 {
		return 30 * time.Second
	}
	return d
}
