package webhooks

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"example.com/bankapi/internal/id"
)

// event is the body of a request. It is the same, byte for byte, however often it is sent and to whom.
type event struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"` // of what happened
	Data      transfer  `json:"data"`
}

// transfer is what GET /transfers/{id} says.
type transfer struct {
	ID          string    `json:"id"`
	FromAccount string    `json:"from_account"`
	ToAccount   string    `json:"to_account"`
	Amount      int64     `json:"amount"`
	Currency    string    `json:"currency"`
	Memo        string    `json:"memo"`
	Status      string    `json:"status"`
	CreatedAt   time.Time `json:"created_at"`
}

// row is a transfer as the ledger keeps it.
type row struct {
	id, from, to   id.ID
	amount         int64
	currency, memo string
	createdAt      time.Time
}

func (r row) body() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(event{Type: "transfer.completed", Timestamp: r.createdAt.UTC(), Data: transfer{
		ID: r.id.Encode("tr"), FromAccount: r.from.Encode("acct"), ToAccount: r.to.Encode("acct"), Amount: r.amount,
		Currency: r.currency, Memo: r.memo, Status: "completed", CreatedAt: r.createdAt.UTC(),
	}})
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// eventID names the event of a transfer.
func (r row) eventID() string { return r.id.Encode("evt") }

const secretPrefix = "whsec_"

// sign sets the headers of Standard Webhooks: an HMAC-SHA256 over "id.timestamp.body".
func sign(h http.Header, key []byte, eventID string, now time.Time, body []byte) {
	timestamp := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", eventID, timestamp, body)
	h.Set("webhook-id", eventID)
	h.Set("webhook-timestamp", timestamp)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
