package httpapi

import "net/http"

// maxBody is the largest body the API reads. The largest well-formed request is below 2 KiB.
const maxBody = 64 << 10

// capBody lets nobody read more of a body than maxBody. It reads nothing itself.
func capBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody {
			r.Body = http.MaxBytesReader(exchangeOf(r).ResponseWriter, r.Body, maxBody)
		}
		next.ServeHTTP(w, r)
	})
}
