package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// APIKeyID names an API key. It is not the key.
type APIKeyID string

// APIKey is a token for a program. It works until it is revoked.
type APIKey struct {
	ID        APIKeyID  `json:"id"`
	Name      string    `json:"name"`
	Key       string    `json:"key"` // the token itself, only when it is made
	Prefix    string    `json:"prefix"`
	Last4     string    `json:"last4"`
	CreatedAt time.Time `json:"created_at"`
}

// CreateAPIKey makes a key and shows it this once. It needs a session, and is sent once.
func (c *Client) CreateAPIKey(ctx context.Context, name string) (APIKey, error) {
	var k APIKey
	in := struct {
		Name string `json:"name"`
	}{name}
	_, err := c.do(ctx, http.MethodPost, "/api-keys", "", in, &k)
	return k, err
}

// APIKeys lists the keys that have not been revoked, newest first.
func (c *Client) APIKeys(ctx context.Context) iter.Seq2[APIKey, error] {
	return list[APIKey](ctx, c, "/api-keys")
}

// RevokeAPIKey ends a key.
func (c *Client) RevokeAPIKey(ctx context.Context, id APIKeyID) error {
	_, err := c.do(ctx, http.MethodDelete, "/api-keys/"+url.PathEscape(string(id)), "", nil, nil)
	return err
}
