package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// AccountID names an account.
type AccountID string

// Account is where money is.
type Account struct {
	ID        AccountID `json:"id"`
	Currency  string    `json:"currency"`
	Name      string    `json:"name"`
	Balance   Amount    `json:"balance"`
	Status    string    `json:"status"` // active, or frozen: it neither sends nor receives
	CreatedAt time.Time `json:"created_at"`
}

// Entry is one line of an account's statement.
type Entry struct {
	TransferID   TransferID `json:"transfer_id"`
	Sequence     int64      `json:"sequence"` // 1, 2, 3 ... without gaps
	Amount       Amount     `json:"amount"`   // as the account sees it: negative when it sent
	BalanceAfter Amount     `json:"balance_after"`
	Counterparty AccountID  `json:"counterparty"`
	Memo         string     `json:"memo"`
	CreatedAt    time.Time  `json:"created_at"`
}

// OpenAccount opens an account in one currency, for good. It is sent once: after a [LostError] look at Accounts.
func (c *Client) OpenAccount(ctx context.Context, currency, name string) (Account, error) {
	var a Account
	in := struct {
		Currency string `json:"currency"`
		Name     string `json:"name,omitempty"`
	}{currency, name}
	_, err := c.do(ctx, http.MethodPost, "/accounts", "", in, &a)
	return a, err
}

// Account returns an account of the caller's, with its balance now.
func (c *Client) Account(ctx context.Context, id AccountID) (Account, error) {
	return get[Account](ctx, c, "/accounts/"+url.PathEscape(string(id)))
}

// Accounts lists the caller's accounts, newest first.
func (c *Client) Accounts(ctx context.Context) iter.Seq2[Account, error] {
	return list[Account](ctx, c, "/accounts")
}

// Entries is an account's statement, newest first. It stays exact while new entries arrive.
func (c *Client) Entries(ctx context.Context, id AccountID) iter.Seq2[Entry, error] {
	return list[Entry](ctx, c, "/accounts/"+url.PathEscape(string(id))+"/entries")
}
