package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/telemetry"
	"example.com/bankapi/internal/webhooks"
)

// newWebhooks puts the limiter's queue before each partner.
func newWebhooks(p *program, pool *pgxpool.Pool, metrics *telemetry.Metrics) *webhooks.Service {
	return webhooks.New(pool, webhooks.Options{
		Observer: webhookObserver{metrics},
		Log:      p.log, Rate: p.webhookRate, AllowLoopback: p.webhookLoopback,
		Line: func(perSecond int64, places int) (webhooks.Line, error) {
			return ratelimit.NewShaper(perSecond, time.Second, places)
		},
	})
}

// webhookObserver counts what the sender does.
type webhookObserver struct{ metrics *telemetry.Metrics }

func (o webhookObserver) Attempted(result webhooks.Result, waited time.Duration) {
	o.metrics.WebhookAttempt(string(result), waited)
}

func (o webhookObserver) Ended(delivered bool) { o.metrics.WebhookEnded(delivered) }

func (o webhookObserver) Backlog(b *webhooks.Backlog) {
	if b == nil {
		o.metrics.WebhookTurnOver()
		return
	}
	o.metrics.WebhookBacklog(b.Due, b.Waiting, b.Dead, b.Lag)
}

const maxWebhookRate = 1000

func parseWebhookRate(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 || n > maxWebhookRate {
		return 0, fmt.Errorf("%q is no whole number of requests a second between 1 and %d", s, maxWebhookRate)
	}
	return n, nil
}

// parseWebhookLoopback reads a switch that stands where the demo's does if nobody has set it.
func parseWebhookLoopback(s string, demo bool) (bool, error) {
	if s == "" {
		return demo, nil
	}
	return parseSwitch(s)
}
