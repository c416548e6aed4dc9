package httpapi

import (
	"net/http"

	"example.com/bankapi/internal/clientip"
	"example.com/bankapi/internal/id"
)

// begin starts the exchange: the request gets an id, always ours, and the address it is counted under.
func (a *api) begin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{
			ResponseWriter: w,
			id:             id.New().Encode("req"),
			clientID:       validRequestID(r.Header["X-Request-Id"]),
			client:         a.clientOf(r),
		}
		setHeader(w.Header(), "X-Request-Id", x.id)
		next.ServeHTTP(x, withExchange(r, x))
	})
}

// validRequestID returns the one id a client sent if it is [A-Za-z0-9._-]{1,64}, else "".
func validRequestID(lines []string) string {
	if len(lines) != 1 || len(lines[0]) == 0 || len(lines[0]) > 64 {
		return ""
	}
	for _, c := range []byte(lines[0]) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && !('0' <= c && c <= '9') && c != '.' && c != '_' && c != '-' {
			return ""
		}
	}
	return lines[0]
}

// clientOf spells the address a request is counted under: an IPv4 address or an IPv6 /64, as a prefix.
func (a *api) clientOf(r *http.Request) string {
	var buf [48]byte
	bucket := clientip.Bucket(a.ClientIP.From(r.RemoteAddr, r.Header["X-Forwarded-For"]))
	return string(bucket.AppendTo(buf[:0]))
}
