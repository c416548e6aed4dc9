package httpapi

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
)

// recover turns a panic into a bare 500 and a full log line. If the answer has begun, the connection is cut instead:
// half an answer must not look like a whole one.
func (a *api) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			x := exchangeOf(r)
			x.failure = fmt.Errorf("panic: %v", cause)
			a.Log.LogAttrs(r.Context(), slog.LevelError, "panic",
				slog.String("request_id", x.id), slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
			if x.status != 0 {
				panic(http.ErrAbortHandler)
			}
			a.fail(w, r, &Problem{Type: internal})
		}()
		next.ServeHTTP(w, r)
	})
}
