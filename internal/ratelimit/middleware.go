package ratelimit

import "net/http"

// Middleware charges each request the claims that it makes, writes the headers, and hands a refused one to refuse,
// which writes the body. Nothing behind it has run by then: no body is read, no database asked.
//
// The key of a limit is whatever claims says; a request without claims passes uncounted.
func Middleware(
	l *Limiter, claims func(*http.Request) []Claim, refuse func(http.ResponseWriter, *http.Request, Decision),
) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked := claims(r)
			if len(asked) == 0 {
				next.ServeHTTP(w, r)
				return
			}
			d := l.Take(r.Context(), asked...)
			WriteHeaders(w.Header(), d)
			if !d.Allowed {
				refuse(w, r, d)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}
