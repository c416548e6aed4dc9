package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Client calls the API as one caller. It is safe for concurrent use.
//
// An answer that is not a success is a *[Problem]. An answer that did not come is a *[LostError]. A limit that would take
// longer than the caller waits is a *[WaitError]; nothing has been sent then.
type Client struct {
	URL      string       // where the server is, such as http://127.0.0.1:8080
	Token    string       // of a session or an API key; empty before there is one
	HTTP     *http.Client // sends requests; nil means http.DefaultClient, which neither retries nor paces
	PageSize int          // how many items of a list to ask for at a time, 1 to 100; 0 means 100
}

// New returns a client that retries and paces itself. A Pacer follows the limits of one caller, so each token needs a
// Client of its own; connections are shared.
func New(url, token string) *Client {
	return &Client{URL: url, Token: token, HTTP: &http.Client{Transport: &Retrier{Base: &Pacer{Cost: Costs}}}}
}

// Costs is what requests to bankapi cost: a transfer 5 units of `user`, a look at the limits nothing of the caller's own,
// anything else 1.
func Costs(policy string, req *http.Request) int64 {
	last := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
	switch {
	case policy == "user" && req.Method == http.MethodPost && last == "transfers":
		return 5
	case (policy == "user" || policy == "daily") && last == "limits":
		return 0
	}
	return 1
}

// Amount is money in minor units of its currency: 12550 of NGN are 125.50 naira.
type Amount int64

// get asks for something.
func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	var out T
	_, err := c.do(ctx, http.MethodGet, path, "", nil, &out)
	return out, err
}

// do sends one request, with in as its JSON body and with the key if there is one, and decodes the answer into out. It
// returns the answer's header.
func (c *Client) do(ctx context.Context, method, path string, key Key, in, out any) (http.Header, error) {
	req, err := c.request(ctx, method, path, key, in)
	if err != nil {
		return nil, fmt.Errorf("bankapi: make the request: %w", err)
	}
	sender := c.HTTP
	if sender == nil {
		sender = http.DefaultClient
	}
	res, err := sender.Do(req)
	if tooLong := (*WaitError)(nil); errors.As(err, &tooLong) {
		return nil, tooLong
	}
	if err != nil {
		return nil, &LostError{err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		return nil, &LostError{err}
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return nil, problemOf(res, body, time.Now())
	}
	if out == nil {
		return res.Header, nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return nil, &LostError{fmt.Errorf("read the answer: %w", err)}
	}
	return res.Header, nil
}

func (c *Client) request(ctx context.Context, method, path string, key Key, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text) // from which NewRequest makes GetBody
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", string(key))
	}
	return req, nil
}
