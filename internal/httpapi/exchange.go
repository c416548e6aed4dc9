package httpapi

import (
	"context"
	"net/http"

	"example.com/bankapi/internal/auth"
)

// exchange is one request and its answer: what the layers of router.go tell each other. It is also the ResponseWriter
// that they and the handler write to, so that the log knows what was sent.
type exchange struct {
	http.ResponseWriter
	status int // 0 until the header is written
	bytes  int64

	id        string         // ours, "req_..."
	clientID  string         // the client's own X-Request-Id if it is well-formed, for the log only
	client    string         // whom the address limits count: an address, or a /64
	principal auth.Principal // zero until a token has been verified
	user      string         // the principal's id, spelled once: "usr_..."
	refusedBy []string       // the policies that refused
	held      *slot          // what hold reserved, for the handler to settle
	failure   error          // what the log should know of a 5xx
}

type exchangeKey struct{}

func withExchange(r *http.Request, x *exchange) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
}

// exchangeOf returns the request's exchange. Every request that has passed the first layer has one.
func exchangeOf(r *http.Request) *exchange {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		panic("httpapi: a request that has not passed begin")
	}
	return x
}

func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(b)
	x.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController find the connection.
func (x *exchange) Unwrap() http.ResponseWriter {
	return x.ResponseWriter
}
