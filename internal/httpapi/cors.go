package httpapi

import (
	"net/http"

	"github.com/go-chi/cors"
)

// exposed are the headers that a page's script may read.
var exposed = []string{
	"RateLimit", "RateLimit-Policy", "Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
	"X-Request-Id", "Idempotent-Replayed", "Location", "Link",
}

// cors lets pages of the allowed origins call the API, by default of every origin: a token is sent by a script that has
// it, never by the browser on its own, so no origin gains rights from the user's mere visit. It answers preflights
// before any limit, and a 429 below it carries its headers.
func (a *api) cors(next http.Handler) http.Handler {
	origins := a.Origins
	if len(origins) == 0 {
		origins = []string{"*"}
	}
	return cors.Handler(cors.Options{
		AllowedOrigins:     origins,
		AllowedMethods:     []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete},
		AllowedHeaders:     []string{"Accept", "Authorization", "Content-Type", "Idempotency-Key", "X-Request-Id"},
		ExposedHeaders:     exposed,
		MaxAge:             600,
		OptionsPassthrough: true,
	})(preflight(next))
}

// preflight ends a CORS preflight with 204; go-chi/cors would say 200.
func preflight(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, hasOrigin := r.Header["Origin"]
		if r.Method == http.MethodOptions && hasOrigin && r.Header.Get("Access-Control-Request-Method") != "" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}
