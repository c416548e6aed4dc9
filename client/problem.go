package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Problem is an answer of the server that is not a success (RFC 9457).
//
//	if errors.Is(err, client.ErrInsufficientFunds) { ... }
//	if p, ok := errors.AsType[*client.Problem](err); ok { log.Print(p.RequestID) }
type Problem struct {
	Type      string  `json:"type"`       // what kind; it never changes its meaning
	Title     string  `json:"title"`      // the kind in words
	Status    int     `json:"status"`     // of the answer
	Detail    string  `json:"detail"`     // about this one, for a person
	Instance  string  `json:"instance"`   // the path of the request
	RequestID string  `json:"request_id"` // to quote when asking for help
	Retryable bool    `json:"retryable"`  // the same request can succeed later without anybody changing anything
	Errors    []Fault `json:"errors"`     // what is wrong with the request

	ViolatedPolicies []string      `json:"violated-policies"` // the limits that refused
	RetryAfter       time.Duration `json:"-"`                 // wait at least this long; 0 if the server did not say
	Replayed         bool          `json:"-"`                 // the key got this answer before
}

// Fault is one thing wrong with a request: in its body at Pointer, or in the Parameter of that name.
type Fault struct {
	Detail    string `json:"detail"`
	Pointer   string `json:"pointer"` // RFC 6901, as a fragment: #/amount
	Parameter string `json:"parameter"`
}

// Error says what happened and names the request.
func (p *Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "bankapi: %d %s", p.Status, p.Title)
	if p.Detail != "" {
		fmt.Fprintf(&b, ": %s", p.Detail)
	}
	for _, f := range p.Errors {
		fmt.Fprintf(&b, " [%s%s: %s]", f.Pointer, f.Parameter, f.Detail)
	}
	if p.RequestID != "" {
		fmt.Fprintf(&b, " (%s)", p.RequestID)
	}
	return b.String()
}

// Is reports whether the problem is of the kind that one of this package's Err values names.
func (p *Problem) Is(target error) bool {
	kind, ok := target.(Kind)
	return ok && slugOf(p.Type) == string(kind)
}

// Kind names a kind of problem by the last part of its type. Kinds are for errors.Is.
type Kind string

// Error implements error.
func (k Kind) Error() string { return "bankapi: " + string(k) }

// Every kind of problem that has a name.
const (
	ErrMalformedBody       Kind = "malformed-body"
	ErrValidationFailed    Kind = "validation-failed"
	ErrWeakPassword        Kind = "weak-password"
	ErrTwoCredentials      Kind = "two-credentials"
	ErrKeyMissing          Kind = "idempotency-key-missing"
	ErrKeyInvalid          Kind = "idempotency-key-invalid"
	ErrCredentialsMissing  Kind = "credentials-missing"
	ErrInvalidToken        Kind = "invalid-token"
	ErrBadCredentials      Kind = "bad-credentials"
	ErrSessionRequired     Kind = "session-required"
	ErrAccountNotFound     Kind = "account-not-found"
	ErrTransferNotFound    Kind = "transfer-not-found"
	ErrAPIKeyNotFound      Kind = "api-key-not-found"
	ErrWebhookNotFound     Kind = "webhook-not-found"
	ErrRatesNotFound       Kind = "rates-not-found"
	ErrEmailTaken          Kind = "email-taken"
	ErrKeyInUse            Kind = "idempotency-key-in-use"
	ErrKeyReused           Kind = "idempotency-key-reused"
	ErrRecipientNotFound   Kind = "recipient-not-found"
	ErrSameAccount         Kind = "same-account"
	ErrCurrencyUnsupported Kind = "currency-unsupported"
	ErrCurrencyMismatch    Kind = "currency-mismatch"
	ErrAccountFrozen       Kind = "account-frozen"
	ErrRecipientFrozen     Kind = "recipient-frozen"
	ErrAmountOutOfRange    Kind = "amount-out-of-range"
	ErrTooManyAccounts     Kind = "too-many-accounts"
	ErrTooManyAPIKeys      Kind = "too-many-api-keys"
	ErrTooManyWebhooks     Kind = "too-many-webhooks"
	ErrResetTokenInvalid   Kind = "reset-token-invalid"
	ErrInsufficientFunds   Kind = "insufficient-funds"
	ErrTimedOut            Kind = "timed-out"
	ErrQuotaExceeded       Kind = "quota-exceeded"             // a limit refused: 429
	ErrReducedCapacity     Kind = "temporary-reduced-capacity" // the server cannot just now: 503
)

// slugOf is the last part of a problem's type: of /problems/timed-out and of ...http-problem-types#quota-exceeded.
func slugOf(uri string) string {
	return uri[strings.LastIndexAny(uri, "/#")+1:]
}

// problemOf makes a Problem of any answer. One that a proxy made, with a page for people, gets its words from its status.
func problemOf(res *http.Response, body []byte, now time.Time) *Problem {
	p := &Problem{}
	if err := json.Unmarshal(body, p); err != nil || p.Type == "" {
		p = &Problem{Type: "about:blank", RequestID: res.Header.Get("X-Request-Id")}
		switch res.StatusCode {
		case http.StatusRequestTimeout, http.StatusTooManyRequests,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			p.Retryable = true
		}
	}
	p.Status = res.StatusCode
	if p.Title == "" {
		p.Title = http.StatusText(p.Status)
	}
	p.RetryAfter, _ = RetryAfter(res.Header, now)
	p.Replayed = replayed(res.Header)
	return p
}

func replayed(h http.Header) bool { return h.Get("Idempotent-Replayed") == "true" }

// LostError says that a request may or may not have been executed: its answer did not arrive, or could not be read.
// For a transfer, send the same key again, or ask [Client.LookUpKey].
type LostError struct {
	Err error
}

// Error names the cause.
func (e *LostError) Error() string { return "bankapi: no answer: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }
