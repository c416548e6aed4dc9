package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/bankapi/internal/httpapi"
)

func TestAdminShowsMetricsAndIntegrity(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, from, to := b.pair()
	if got := ada.transfer("k", order(from, to, 7)); got.Status != http.StatusCreated {
		t.Fatal(got)
	}
	ada.do("BREW", "/secret-path", "")
	ada.flood(10, "GET", "/me")

	admin := httpapi.NewAdmin(b.deps)
	ask := func(path string) string {
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1:8081"+path, nil))
		if w.Code != http.StatusOK {
			t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
		}
		return w.Body.String()
	}
	metrics := ask("/metrics")
	for _, want := range []string{
		`bankapi_http_requests_total{method="POST",route="/transfers",status="201"} 1`,
		`bankapi_http_requests_total{method="other",route="other",status="404"} 1`,
		`bankapi_ratelimit_decisions_total{outcome="refused",policy="user"} `,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(metrics, "secret-path") {
		t.Error("a client's path became a label")
	}
	if got := ask("/integrity"); !strings.Contains(got, `"ok":true`) || !strings.Contains(got, `"currencies":{"NGN":0}`) {
		t.Errorf("integrity: %s", got)
	}
	ask("/debug/pprof/")
	ask("/debug/pprof/goroutine?debug=1")

	w := httptest.NewRecorder()
	admin.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1/me", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("GET /me on the admin listener: %d, want 404", w.Code)
	}
}

// A page of evil.example cannot read what it makes its visitor's browser fetch from evil.example, now 127.0.0.1.
func TestAdminHasNoName(t *testing.T) {
	t.Parallel()
	admin := httpapi.NewAdmin(openBank(t).deps)
	for host, want := range map[string]int{
		"127.0.0.1:8081": 200, "127.0.0.1": 200, "[::1]:8081": 200, "[::1]": 200, "localhost:8081": 200, "LocalHost": 200, "10.1.2.3:8081": 200,
		"evil.example:8081": 421, "evil.example": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example:8081": 421, "": 421, ":8081": 421,
	} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Host = host
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("Host %q: %d, want %d", host, w.Code, want)
		}
	}
}
