// Package telemetry is how the bank is watched: Prometheus metrics and the logger.
//
// No label holds a value that a client can choose. A method or route that is not ours is counted as "other", so nobody
// can fill the metrics store with series.
package telemetry

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics counts what the bank does. A nil *Metrics counts nothing. It is safe for concurrent use.
type Metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	decisions *prometheus.CounterVec
	failures  *prometheus.CounterVec
	batches   prometheus.Histogram
	known     *prometheus.CounterVec
	webhooks  webhookMetrics

	answered series[requestLabels, requestSeries]
	decided  series[decisionLabels, prometheus.Counter]
}

// New returns metrics on a registry of their own, with Go's and the process's beside them.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bankapi_http_requests_total", Help: "Requests answered, by route pattern, method and status.",
		}, []string{"route", "method", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "bankapi_http_request_duration_seconds", Help: "Time from the request's header to the end of the answer.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route", "method"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bankapi_ratelimit_decisions_total", Help: "Limiter decisions, by policy and outcome.",
		}, []string{"policy", "outcome"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bankapi_ratelimit_store_failures_total", Help: "Calls that a limiter's store failed or did not answer in time, by store.",
		}, []string{"store"}),
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "bankapi_transfer_batch_size", Help: "Orders that were committed together.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}),
		known: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bankapi_transfer_batches_total", Help: "Batches committed, by how their accounts were known: foreseen, locked, or locked after a surprise.",
		}, []string{"accounts"}),
	}
	m.registry.MustRegister(m.requests, m.durations, m.decisions, m.failures, m.batches, m.known,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.webhooks = newWebhookMetrics(m.registry)
	return m
}

// Handler serves the metrics in Prometheus' formats.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

const other = "other"

// Request counts one answered request. route is the pattern that matched, "" if none did.
func (m *Metrics) Request(route, method string, status int, took time.Duration) {
	if m == nil {
		return
	}
	if route == "" {
		route = other
	}
	method = Method(method)
	s := m.answered.get(requestLabels{route, method, status}, func(l requestLabels) requestSeries {
		return requestSeries{m.requests.WithLabelValues(l.route, l.method, strconv.Itoa(l.status)), m.durations.WithLabelValues(l.route, l.method)}
	})
	s.count.Inc()
	s.duration.Observe(took.Seconds())
}

type requestLabels struct {
	route, method string
	status        int
}

type requestSeries struct {
	count    prometheus.Counter
	duration prometheus.Observer
}

type decisionLabels struct{ policy, outcome string }

// series remembers those of labels that were met before: to find one in a vector of Prometheus' takes longer.
type series[Labels comparable, Series any] struct {
	mu  sync.RWMutex
	met map[Labels]Series
}

func (s *series[Labels, Series]) get(l Labels, find func(Labels) Series) Series {
	s.mu.RLock()
	one, ok := s.met[l]
	s.mu.RUnlock()
	if ok {
		return one
	}
	one = find(l)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.met == nil {
		s.met = make(map[Labels]Series)
	}
	s.met[l] = one
	return one
}

// Method is the method as it may stand in a label or a log: what is not HTTP's own is "other".
func Method(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return other
}

// Decision counts what became of one claim on a policy: outcome is one of a few known words.
func (m *Metrics) Decision(policy, outcome string) {
	if m != nil {
		m.decided.get(decisionLabels{policy, outcome}, func(l decisionLabels) prometheus.Counter {
			return m.decisions.WithLabelValues(l.policy, l.outcome)
		}).Inc()
	}
}

// StoreFailure counts a call that a limiter's store (memory, redis, postgres) failed or did not answer in time.
func (m *Metrics) StoreFailure(store string) {
	if m != nil {
		m.failures.WithLabelValues(store).Inc()
	}
}

// Batch counts one committed batch of orders. accounts says how its accounts were known, in one of a few words.
func (m *Metrics) Batch(size int, accounts string) {
	if m != nil {
		m.batches.Observe(float64(size))
		m.known.WithLabelValues(accounts).Inc()
	}
}

// WatchPool publishes a connection pool's state under a name of ours. It may be called once for each name.
func (m *Metrics) WatchPool(name string, stat func() *pgxpool.Stat) {
	if m == nil {
		return
	}
	gauge := func(metric, help string, value func(*pgxpool.Stat) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "bankapi_pool_" + metric, Help: help, ConstLabels: prometheus.Labels{"pool": name},
		}, func() float64 { return value(stat()) }))
	}
	gauge("connections_max", "Most connections the pool opens.", func(s *pgxpool.Stat) float64 { return float64(s.MaxConns()) })
	gauge("connections_open", "Connections open now.", func(s *pgxpool.Stat) float64 { return float64(s.TotalConns()) })
	gauge("connections_in_use", "Connections in use now.", func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) })
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "bankapi_pool_waits_total", Help: "Times a request had to wait for a connection.",
		ConstLabels: prometheus.Labels{"pool": name},
	}, func() float64 { return float64(stat().EmptyAcquireCount()) }))
}
