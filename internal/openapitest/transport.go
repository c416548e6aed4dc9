package openapitest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Client returns a client that checks every answer it gets and follows no redirect.
func Client(t testing.TB, when ...Condition) *http.Client {
	return &http.Client{
		Transport:     &Transport{T: t, When: when},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Transport is a RoundTripper that checks every answer that passes through it. Its requests must end before the test.
type Transport struct {
	T    testing.TB
	Base http.RoundTripper // nil means http.DefaultTransport
	When []Condition
}

var _ http.RoundTripper = (*Transport)(nil)

// RoundTrip implements [http.RoundTripper].
func (tr *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	tr.T.Helper()
	base := tr.Base
	if base == nil {
		base = http.DefaultTransport
	}
	req, err := repeatable(req)
	if err != nil {
		return nil, err
	}
	res, err := base.RoundTrip(req)
	if err == nil {
		Check(tr.T, req, res, tr.When...)
	}
	return res, err
}

// Serve lets a handler answer a request, checks the answer and returns it.
func Serve(t testing.TB, h http.Handler, req *http.Request, when ...Condition) *http.Response {
	t.Helper()
	req = overheard(req)
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, req)
	res := recorder.Result()
	Check(t, req, res, when...)
	return res
}

// repeatable returns a request whose body can be read a second time. Callers keep theirs: a RoundTripper must not change
// the request it is given.
func repeatable(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody || req.GetBody != nil {
		return req, nil
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, err = req.GetBody()
	return req, err
}

// overheard returns a request that remembers as much of its body as the handler reads. What is refused unread stays so.
func overheard(req *http.Request) *http.Request {
	if req.Body == nil || req.Body == http.NoBody || req.GetBody != nil {
		return req
	}
	var read bytes.Buffer
	body := req.Body
	req = req.Clone(req.Context())
	req.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(body, &read), body}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(&read), nil }
	return req
}
