package client

import (
	"context"
	"net/url"
	"time"
)

// Limit is one policy that concerns the caller, and what is left of it.
type Limit struct {
	Policy          string  `json:"policy"`
	Algorithm       string  `json:"algorithm"`
	Limit           int64   `json:"limit"`
	Remaining       int64   `json:"remaining"`
	ResetSeconds    int64   `json:"reset_seconds"`     // until all of it is back, if nothing more is asked
	RefillPerSecond float64 `json:"refill_per_second"` // of a bucket
	WindowSeconds   int64   `json:"window_seconds"`    // of a window
}

// Limits says what the caller may do. Asking uses up nothing of it.
func (c *Client) Limits(ctx context.Context) ([]Limit, error) {
	all, err := get[page[Limit]](ctx, c, "/limits")
	return all.Data, err
}

// Rates is what one unit of a currency is worth in others, as decimals.
type Rates struct {
	Base  string            `json:"base"`
	AsOf  time.Time         `json:"as_of"`
	Rates map[string]string `json:"rates"`
}

// Rates returns the newest exchange rates of a currency. It needs no token.
func (c *Client) Rates(ctx context.Context, base string) (Rates, error) {
	return get[Rates](ctx, c, "/rates?"+url.Values{"base": {base}}.Encode())
}
