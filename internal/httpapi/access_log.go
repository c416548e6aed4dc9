package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"example.com/bankapi/internal/auth"
)

// log writes one line per request after it was answered, and feeds the metrics. No secrets, no amounts, no path as the
// client spelled it: a path can hold an idempotency key.
func (a *api) log(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := a.Now()
		x := exchangeOf(r)
		next.ServeHTTP(w, r)

		took := a.Now().Sub(start)
		route := routeOf(r)
		a.Metrics.Request(route, r.Method, x.status, took)
		level := slog.LevelInfo
		if x.status >= http.StatusInternalServerError {
			level = slog.LevelError
		}
		if !a.Log.Enabled(r.Context(), level) {
			return
		}
		attrs := append(make([]slog.Attr, 0, 12),
			slog.String("request_id", x.id),
			slog.String("method", r.Method),
			slog.String("route", route),
			slog.Int("status", x.status),
			slog.Duration("duration", took),
			slog.Int64("bytes", x.bytes),
			slog.String("client", x.client))
		a.Log.LogAttrs(r.Context(), level, "request", append(attrs, x.known()...)...)
	})
}

// known is what only some requests have.
func (x *exchange) known() []slog.Attr {
	var attrs []slog.Attr
	if x.clientID != "" {
		attrs = append(attrs, slog.String("client_request_id", x.clientID))
	}
	if x.principal != (auth.Principal{}) {
		attrs = append(attrs, slog.String("user", x.principal.User.String()))
	}
	if len(x.refusedBy) > 0 {
		attrs = append(attrs, slog.Any("refused_by", x.refusedBy))
	}
	if x.failure != nil {
		attrs = append(attrs, slog.String("error", x.failure.Error()))
	}
	return attrs
}

// routeOf is the pattern that matched, complete only after the router has run; "" if none did.
func routeOf(r *http.Request) string {
	return chi.RouteContext(r.Context()).RoutePattern()
}
