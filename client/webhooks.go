package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// WebhookID names a webhook.
type WebhookID string

// Webhook is an address that is told of the caller's transfers as they complete.
type Webhook struct {
	ID        WebhookID `json:"id"`
	URL       string    `json:"url"`
	Secret    string    `json:"secret"` // signs what is sent; only when the webhook is made
	CreatedAt time.Time `json:"created_at"`
}

// CreateWebhook makes a webhook and shows its secret this once. It needs a session, and is sent once.
func (c *Client) CreateWebhook(ctx context.Context, address string) (Webhook, error) {
	var w Webhook
	in := struct {
		URL string `json:"url"`
	}{address}
	_, err := c.do(ctx, http.MethodPost, "/webhooks", "", in, &w)
	return w, err
}

// Webhooks lists the caller's webhooks, newest first.
func (c *Client) Webhooks(ctx context.Context) iter.Seq2[Webhook, error] {
	return list[Webhook](ctx, c, "/webhooks")
}

// DeleteWebhook ends a webhook.
func (c *Client) DeleteWebhook(ctx context.Context, id WebhookID) error {
	_, err := c.do(ctx, http.MethodDelete, "/webhooks/"+url.PathEscape(string(id)), "", nil, nil)
	return err
}
