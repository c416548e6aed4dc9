package httpapi

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"example.com/bankapi/internal/telemetry"
)

// log writes one line per request after it was answered, and feeds the metrics. No secrets, no amounts, no path or method
// as the client spelled it: a path can hold an idempotency key, and a method can be anything.
func (a *api) log(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := a.Now()
		x := exchangeOf(r)
		next.ServeHTTP(w, r)

		now := a.Now()
		took := now.Sub(start)
		route := routeOf(r)
		a.Metrics.Request(route, r.Method, x.status, took)
		level := slog.LevelInfo
		if x.failure != nil && r.Context().Err() == nil { // a client that hangs up must not wake anybody
			level = slog.LevelError
		}
		if !a.Log.Enabled(r.Context(), level) {
			return
		}
		var buf [12]slog.Attr
		line := slog.NewRecord(now, level, "request", 0) // LogAttrs would look for its caller on the stack
		line.AddAttrs(x.attrs(buf[:0], r.Method, route, took)...)
		_ = a.Log.Handler().Handle(r.Context(), line)
	})
}

// attrs appends what every request has, then what only some have.
func (x *exchange) attrs(attrs []slog.Attr, method, route string, took time.Duration) []slog.Attr {
	attrs = append(attrs,
		slog.String("request_id", x.id),
		slog.String("method", telemetry.Method(method)),
		slog.String("route", route),
		slog.Int("status", x.status),
		slog.Duration("duration", took),
		slog.Int64("bytes", x.bytes),
		slog.String("client", x.client))
	if x.clientID != "" {
		attrs = append(attrs, slog.String("client_request_id", x.clientID))
	}
	if x.user != "" {
		attrs = append(attrs, slog.String("user", x.user))
	}
	if len(x.refusedBy) > 0 {
		attrs = append(attrs, slog.String("refused_by", strings.Join(x.refusedBy, ",")))
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
