package httpapi_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"

	"example.com/bankapi/internal/httpapi"
)

// discard is a ResponseWriter that costs nothing, so that what is measured is the handler.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func benchmarkHandler(b *testing.B, h http.Handler, r *http.Request, want int) {
	b.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != want {
		b.Fatalf("got %d, want %d: %s", w.Code, want, w.Body)
	}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(discard{http.Header{}}, r)
	}
}

// written has log lines written and thrown away; slog.DiscardHandler would not write them.
func written(d *httpapi.Deps) {
	d.Log = slog.New(slog.NewJSONHandler(io.Discard, nil)) //nolint:sloglint // the line belongs to what is measured
}

// BenchmarkRefused is a 429 of the address limit with all its headers, its body and its log line.
func BenchmarkRefused(b *testing.B) {
	bank := openBank(b, written)
	c := bank.from("198.51.100.7")
	c.flood(300, "GET", "/nothing-here")
	benchmarkHandler(b, bank.handler, c.request("GET", "/rates", nil), http.StatusTooManyRequests)
}

// BenchmarkHealth is the way through the outer layers without a limit.
func BenchmarkHealth(b *testing.B) {
	bank := openBank(b, written)
	benchmarkHandler(b, bank.handler, bank.from("198.51.100.7").request("GET", "/healthz", nil), http.StatusOK)
}

// BenchmarkBareChi is what the router alone costs.
func BenchmarkBareChi(b *testing.B) {
	r := chi.NewRouter()
	r.Get("/rates", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status":"ok"}`) })
	benchmarkHandler(b, r, httptest.NewRequest("GET", "/rates", nil), http.StatusOK)
}
