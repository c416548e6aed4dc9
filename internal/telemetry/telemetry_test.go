package telemetry

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestCountsByPatternNeverByWhatAClientChose(t *testing.T) {
	t.Parallel()
	m := New()
	m.Request("/accounts/{id}", "GET", 200, time.Millisecond)
	m.Request("", "BREW", 405, time.Millisecond)
	m.Decision("user", "refused")
	m.StoreFailure("redis")
	m.Batch(3, "locked")
	got := scrape(t, m)
	for _, want := range []string{
		`bankapi_http_requests_total{method="GET",route="/accounts/{id}",status="200"} 1`,
		`bankapi_http_requests_total{method="other",route="other",status="405"} 1`,
		`bankapi_http_request_duration_seconds_count{method="GET",route="/accounts/{id}"} 1`,
		`bankapi_ratelimit_decisions_total{outcome="refused",policy="user"} 1`,
		`bankapi_ratelimit_store_failures_total{store="redis"} 1`,
		`bankapi_transfer_batch_size_sum 3`,
		`bankapi_transfer_batches_total{accounts="locked"} 1`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("missing %s", want)
		}
	}
	if strings.Contains(got, "BREW") {
		t.Error("a client's method became a label")
	}
}

func TestNilMetricsCountNothing(t *testing.T) {
	t.Parallel()
	var m *Metrics
	m.Request("/", "GET", 200, 0)
	m.Decision("user", "allowed")
	m.StoreFailure("user")
	m.Batch(1, "foreseen")
	m.WatchPool("main", nil)
	m.WebhookAttempt("taken", 0)
	m.WebhookEnded(true)
	m.WebhookBacklog(1, 1, 1, 1)
	m.WebhookTurnOver()
}

func TestLoggerTakesFormatAndLevel(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := NewLogger(&out, "json", "warn")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("quiet")
	log.Warn("loud")
	if got := out.String(); strings.Contains(got, "quiet") || !strings.Contains(got, `"msg":"loud"`) {
		t.Errorf("got %s", got)
	}
	for _, bad := range [][2]string{{"xml", "info"}, {"json", "noisy"}} {
		if _, err := NewLogger(&out, bad[0], bad[1]); err == nil {
			t.Errorf("NewLogger(%q, %q): no error", bad[0], bad[1])
		}
	}
}
