package httpapi

import (
	"context"
	"net/http"
)

// deadline ends the request's context after the time one request may take. A handler that meets it answers 503.
func (a *api) deadline(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), a.Timeout)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
