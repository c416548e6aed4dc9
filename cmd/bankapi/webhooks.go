package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/webhooks"
)

// newWebhooks puts the limiter's queue before each partner.
func newWebhooks(p *program, pool *pgxpool.Pool) *webhooks.Service {
	return webhooks.New(pool, webhooks.Options{
		Log: p.log, Rate: p.webhookRate, AllowLoopback: p.webhookLoopback,
		Line: func(perSecond int64, places int) (webhooks.Line, error) {
			return ratelimit.NewShaper(perSecond, time.Second, places)
		},
	})
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
