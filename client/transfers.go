package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// TransferID names a transfer.
type TransferID string

// Order is what to transfer.
type Order struct {
	From     AccountID `json:"from_account"`
	To       AccountID `json:"to_account"`
	Amount   Amount    `json:"amount"`
	Currency string    `json:"currency"`
	Memo     string    `json:"memo,omitempty"`
}

// Transfer is money that has moved.
type Transfer struct {
	ID        TransferID `json:"id"`
	From      AccountID  `json:"from_account"`
	To        AccountID  `json:"to_account"`
	Amount    Amount     `json:"amount"`
	Currency  string     `json:"currency"`
	Memo      string     `json:"memo"`
	Status    string     `json:"status"` // completed
	CreatedAt time.Time  `json:"created_at"`
	Replayed  bool       `json:"-"` // an earlier request with the same key had moved it
}

// Key names one intent: the wish of a person, on one day, to send this amount to that account. Every request that comes
// of the wish carries the same key, so that together they move money once. 1 to 255 visible ASCII characters except
// quotation marks, backslash, comma and semicolon.
type Key string

// NewKey makes a key. Call it when the intent arises, outside any loop that sends.
func NewKey() Key { return Key(rand.Text()) }

// Intent is an order with its key. Store it before the first try, and a program that died can go on where it was.
type Intent struct {
	Key   Key   `json:"key"`
	Order Order `json:"order"`
}

// NewIntent makes the order's key.
func NewIntent(o Order) Intent { return Intent{Key: NewKey(), Order: o} }

// Transfer sends an order under its key. Whatever came of it, the same key and order may be sent again: money moves once.
// A further order needs a further key.
func (c *Client) Transfer(ctx context.Context, key Key, o Order) (Transfer, error) {
	var t Transfer
	if key == "" {
		return t, errors.New("bankapi: a transfer needs a key, made once for each intent: see NewKey")
	}
	h, err := c.do(ctx, http.MethodPost, "/transfers", key, o, &t)
	if err == nil {
		t.Replayed = replayed(h)
	}
	return t, err
}

// Settle sends an intent until the bank has decided it: the money has moved, or will not. It outlasts what a Retrier
// gives up on, for as long as ctx allows; once that is over the intent is open, and may be settled later.
//
// An error that only somebody else can mend (a token that has expired) ends it too. Settle the same intent again after.
func (c *Client) Settle(ctx context.Context, in Intent) (Transfer, error) {
	pause := Backoff{Base: time.Second, Cap: 30 * time.Second}
	for tries := 1; ; tries++ {
		t, err := c.Transfer(ctx, in.Key, in.Order)
		told, open := undecided(err)
		if !open {
			return t, err
		}
		least, jitter := pause.wait(tries, told, uniform)
		if late(ctx, least) || sleep(ctx, least+jitter) != nil {
			return t, fmt.Errorf("bankapi: the transfer with key %s is still open: %w", in.Key, err)
		}
	}
}

// undecided reports whether err leaves open what will become of a transfer, and how long to wait before asking again.
func undecided(err error) (wait time.Duration, open bool) {
	if p := (*Problem)(nil); errors.As(err, &p) {
		return p.RetryAfter, p.Retryable || p.Status >= http.StatusInternalServerError
	}
	if w := (*WaitError)(nil); errors.As(err, &w) {
		return w.Wait, true
	}
	lost := (*LostError)(nil)
	return 0, errors.As(err, &lost)
}

// late reports whether ctx will be over before a wait.
func late(ctx context.Context, wait time.Duration) bool {
	deadline, limited := ctx.Deadline()
	return limited && time.Until(deadline) <= wait
}

// GetTransfer returns a transfer in which an account of the caller's took part.
func (c *Client) GetTransfer(ctx context.Context, id TransferID) (Transfer, error) {
	return get[Transfer](ctx, c, "/transfers/"+url.PathEscape(string(id)))
}

// Transfers lists the caller's transfers, newest first.
func (c *Client) Transfers(ctx context.Context) iter.Seq2[Transfer, error] {
	return list[Transfer](ctx, c, "/transfers")
}

// KeyRecord is what the bank knows of a key.
type KeyRecord struct {
	Key        Key        `json:"key"`
	State      string     `json:"state"`       // unknown (so far), in_progress, done
	Status     int        `json:"status"`      // of the answer, once done
	TransferID TransferID `json:"transfer_id"` // if it moved money
}

// LookUpKey asks what became of a key whose answer was lost. A key that is unknown may still become known: a request can
// be on its way. Sending it again is the sure way to find out.
func (c *Client) LookUpKey(ctx context.Context, key Key) (KeyRecord, error) {
	return get[KeyRecord](ctx, c, "/idempotency-keys/"+url.PathEscape(string(key)))
}
