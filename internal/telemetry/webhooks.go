package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// webhookMetrics has no label for a partner: customers choose those.
type webhookMetrics struct {
	attempts   *prometheus.CounterVec
	deliveries *prometheus.CounterVec
	waits      prometheus.Histogram
	backlog    *prometheus.GaugeVec // empty in a process that does not send, so that a sum over all is right
	lag        *prometheus.GaugeVec // the same
	sending    prometheus.Gauge
}

func newWebhookMetrics(r prometheus.Registerer) webhookMetrics {
	w := webhookMetrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bankapi_webhook_attempts_total", Help: "Requests sent to partners, by result: taken, refused, unanswered.",
		}, []string{"result"}),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bankapi_webhook_deliveries_total", Help: "Deliveries that are over, by outcome: delivered, dead.",
		}, []string{"outcome"}),
		waits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "bankapi_webhook_wait_seconds", Help: "Time that deliveries stood in the line before their partner.",
			Buckets: []float64{.001, .01, .05, .1, .2, .5, 1, 2, 5, 10, 30},
		}),
		backlog: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "bankapi_webhook_backlog", Help: "Deliveries kept, by state: due, waiting (for the next attempt), dead. Told by the process that sends.",
		}, []string{"state"}),
		lag: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "bankapi_webhook_outbox_lag_seconds", Help: "Age of the oldest transfer that was not read from the outbox yet. Told by the process that sends.",
		}, nil),
		sending: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "bankapi_webhook_sending", Help: "1 in the process that sends, 0 in the others.",
		}),
	}
	r.MustRegister(w.attempts, w.deliveries, w.waits, w.backlog, w.lag, w.sending)
	return w
}

// WebhookAttempt counts one request to a partner; result is one of a few known words. waited is how long its delivery had
// stood in line.
func (m *Metrics) WebhookAttempt(result string, waited time.Duration) {
	if m != nil {
		m.webhooks.attempts.WithLabelValues(result).Inc()
		m.webhooks.waits.Observe(waited.Seconds())
	}
}

// WebhookEnded counts one delivery that is over: delivered, or dead.
func (m *Metrics) WebhookEnded(delivered bool) {
	if m == nil {
		return
	}
	outcome := "dead"
	if delivered {
		outcome = "delivered"
	}
	m.webhooks.deliveries.WithLabelValues(outcome).Inc()
}

// WebhookBacklog publishes what is still to be sent. This process is the one that sends.
func (m *Metrics) WebhookBacklog(due, waiting, dead int, lag time.Duration) {
	if m == nil {
		return
	}
	w := m.webhooks
	w.sending.Set(1)
	w.backlog.WithLabelValues("due").Set(float64(due))
	w.backlog.WithLabelValues("waiting").Set(float64(waiting))
	w.backlog.WithLabelValues("dead").Set(float64(dead))
	w.lag.WithLabelValues().Set(lag.Seconds())
}

// WebhookTurnOver withdraws what WebhookBacklog published: another process sends now.
func (m *Metrics) WebhookTurnOver() {
	if m == nil {
		return
	}
	m.webhooks.sending.Set(0)
	m.webhooks.backlog.Reset()
	m.webhooks.lag.Reset()
}
