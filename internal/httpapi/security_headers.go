package httpapi

import "net/http"

// Headers that every answer carries. Pages for people replace the content policy by their own.
var (
	noSniff     = []string{"nosniff"}
	noReferrer  = []string{"no-referrer"}
	noStore     = []string{"no-store"}
	denyContent = []string{"default-src 'none'; frame-ancestors 'none'"}
	onlyTLS     = []string{"max-age=31536000"}
)

// secure sets the security headers. Nothing of the API may be cached; Strict-Transport-Security is sent only where TLS
// stands in front, because a browser that has seen it never comes back without.
func (a *api) secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Cache-Control"] = noStore
		h["Content-Security-Policy"] = denyContent
		h["Referrer-Policy"] = noReferrer
		h["X-Content-Type-Options"] = noSniff
		if a.BehindTLS {
			h["Strict-Transport-Security"] = onlyTLS
		}
		next.ServeHTTP(w, r)
	})
}
