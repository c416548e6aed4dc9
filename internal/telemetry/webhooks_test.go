package telemetry

import (
	"strings"
	"testing"
	"time"
)

func TestTheSendersBacklogLeavesWithItsTurn(t *testing.T) {
	t.Parallel()
	m := New()
	m.WebhookAttempt("taken", 300*time.Millisecond)
	m.WebhookEnded(true)
	m.WebhookEnded(false)
	m.WebhookBacklog(3, 2, 1, 1500*time.Millisecond)
	counts := []string{
		`bankapi_webhook_attempts_total{result="taken"} 1`,
		`bankapi_webhook_wait_seconds_sum 0.3`,
		`bankapi_webhook_deliveries_total{outcome="delivered"} 1`,
		`bankapi_webhook_deliveries_total{outcome="dead"} 1`,
	}
	levels := []string{
		`bankapi_webhook_sending 1`,
		`bankapi_webhook_backlog{state="due"} 3`,
		`bankapi_webhook_backlog{state="waiting"} 2`,
		`bankapi_webhook_backlog{state="dead"} 1`,
		`bankapi_webhook_outbox_lag_seconds 1.5`,
	}
	got := scrape(t, m)
	for _, want := range append(counts, levels...) {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("missing %s", want)
		}
	}
	m.WebhookTurnOver()
	got = scrape(t, m)
	for _, want := range append(counts, "bankapi_webhook_sending 0") {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("after the turn: missing %s", want)
		}
	}
	for _, gone := range levels {
		if strings.Contains(got, gone+"\n") {
			t.Errorf("after the turn: still there: %s", gone)
		}
	}
}
