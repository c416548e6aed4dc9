package httpapi

import (
	"context"
	"errors"
	"net/http"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/idempotency"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/rates"
	"example.com/bankapi/internal/transfers"
	"example.com/bankapi/internal/webhooks"
)

// ProblemType is a class of problem: everything about it that never varies (RFC 9457).
type ProblemType struct {
	Slug       string // names its page, /problems/{slug}; empty for the types that IANA or HTTP itself defines
	URI        string // the member "type"
	Title      string
	Status     int
	Retryable  bool   // the same request can succeed later without anybody changing anything
	RetryAfter int    // seconds, for types that know no better; 0 sends no Retry-After
	Challenge  string // the WWW-Authenticate header, on every 401
}

const realm = `Bearer realm="bankapi"`

// The problem types, in the order of their status.
var (
	malformedBody   = own("malformed-body", http.StatusBadRequest, "The body is not one well-formed JSON object")
	validation      = own("validation-failed", http.StatusBadRequest, "The request is not valid")
	weakPassword    = own("weak-password", http.StatusBadRequest, "The password is too weak")
	twoCredentials  = challenge(own("two-credentials", http.StatusBadRequest, "More than one credential"), realm+`, error="invalid_request"`)
	keyMissing      = own("idempotency-key-missing", http.StatusBadRequest, "The Idempotency-Key header is missing")
	keyInvalid      = own("idempotency-key-invalid", http.StatusBadRequest, "The Idempotency-Key header is malformed")
	noCredentials   = challenge(own("credentials-missing", http.StatusUnauthorized, "Credentials are missing"), realm)
	invalidToken    = challenge(own("invalid-token", http.StatusUnauthorized, "The token is not valid"), realm+`, error="invalid_token"`)
	badCredentials  = challenge(own("bad-credentials", http.StatusUnauthorized, "E-mail address or password is wrong"), realm)
	sessionRequired = own("session-required", http.StatusForbidden, "Only a session may do this")
	accountNotFound = own("account-not-found", http.StatusNotFound, "No such account of yours")
	transferMissing = own("transfer-not-found", http.StatusNotFound, "No such transfer of yours")
	apiKeyNotFound  = own("api-key-not-found", http.StatusNotFound, "No such API key of yours")
	webhookMissing  = own("webhook-not-found", http.StatusNotFound, "No such webhook of yours")
	ratesNotFound   = own("rates-not-found", http.StatusNotFound, "No rates for this base currency")
	emailTaken      = own("email-taken", http.StatusConflict, "The e-mail address is taken")
	keyInUse        = retry(own("idempotency-key-in-use", http.StatusConflict, "A request with this Idempotency-Key is still running"), 1)
	keyReused       = own("idempotency-key-reused", http.StatusUnprocessableEntity, "The Idempotency-Key was used for another request")
	recipient       = own("recipient-not-found", http.StatusUnprocessableEntity, "The receiving account does not exist")
	sameAccount     = own("same-account", http.StatusUnprocessableEntity, "Both accounts are the same")
	currencyUnknown = own("currency-unsupported", http.StatusUnprocessableEntity, "The currency is not supported")
	currencyDiffers = own("currency-mismatch", http.StatusUnprocessableEntity, "The currencies differ")
	frozen          = own("account-frozen", http.StatusUnprocessableEntity, "The sending account is frozen")
	recipientFrozen = own("recipient-frozen", http.StatusUnprocessableEntity, "The receiving account is frozen")
	outOfRange      = own("amount-out-of-range", http.StatusUnprocessableEntity, "The receiving account cannot hold that much")
	tooManyAccounts = own("too-many-accounts", http.StatusUnprocessableEntity, "You have as many accounts as one customer may have")
	tooManyAPIKeys  = own("too-many-api-keys", http.StatusUnprocessableEntity, "You have as many API keys as one customer may have")
	tooManyWebhooks = own("too-many-webhooks", http.StatusUnprocessableEntity, "You have as many webhooks as one customer may have")
	resetInvalid    = own("reset-token-invalid", http.StatusUnprocessableEntity, "The password reset token is not valid")
	noFunds         = own("insufficient-funds", http.StatusUnprocessableEntity, "The balance is too low")
	timedOut        = retry(own("timed-out", http.StatusServiceUnavailable, "The request took too long"), 1)

	quotaExceeded = &ProblemType{URI: iana + "quota-exceeded", Status: http.StatusTooManyRequests, Retryable: true,
		Title: "Request cannot be satisfied as assigned quota has been exceeded"}
	reducedCapacity = retry(&ProblemType{URI: iana + "temporary-reduced-capacity", Status: http.StatusServiceUnavailable,
		Title: "Request cannot be satisfied due to temporary server capacity constraints"}, 1)

	notFound         = plain(http.StatusNotFound)
	methodNotAllowed = plain(http.StatusMethodNotAllowed)
	misdirected      = plain(http.StatusMisdirectedRequest) // the admin listener's
	bodyTooLarge     = plain(http.StatusRequestEntityTooLarge)
	notJSON          = plain(http.StatusUnsupportedMediaType)
	internal         = plain(http.StatusInternalServerError)
)

// types lists the problem types for those who check them against the document and the pages.
var types = []*ProblemType{
	malformedBody, validation, weakPassword, twoCredentials, keyMissing, keyInvalid, noCredentials, invalidToken, badCredentials, sessionRequired,
	accountNotFound, transferMissing, apiKeyNotFound, webhookMissing, ratesNotFound, emailTaken, keyInUse, keyReused, recipient, sameAccount,
	currencyUnknown, currencyDiffers, frozen, recipientFrozen, outOfRange, tooManyAccounts, tooManyAPIKeys, tooManyWebhooks, resetInvalid, noFunds, timedOut, quotaExceeded, reducedCapacity, notFound, methodNotAllowed,
	bodyTooLarge, notJSON, internal,
}

// ProblemTypes returns every problem type a client can meet.
func ProblemTypes() []ProblemType {
	all := make([]ProblemType, len(types))
	for i, t := range types {
		all[i] = *t
	}
	return all
}

const iana = "https://iana.org/assignments/http-problem-types#"

func own(slug string, status int, title string) *ProblemType {
	return &ProblemType{Slug: slug, URI: "/problems/" + slug, Title: title, Status: status}
}

// plain is a problem that says no more than its status does.
func plain(status int) *ProblemType {
	return &ProblemType{URI: "about:blank", Title: http.StatusText(status), Status: status}
}

func retry(t *ProblemType, after int) *ProblemType {
	t.Retryable, t.RetryAfter = true, after
	return t
}

func challenge(t *ProblemType, header string) *ProblemType {
	t.Challenge = header
	return t
}

// rows is the table: which error becomes which problem, and what is said about it. The first match counts. An error with
// more to tell than its row (the faults of a body, the fields that differ) arrives as a *[Problem].
var rows = []struct {
	err    error
	is     *ProblemType
	detail string
}{
	{errNotFound, notFound, "There is nothing at this address."},
	{errMethodNotAllowed, methodNotAllowed, "This address does not take that method. Allow lists those it takes."},
	{errMisdirected, misdirected, "Ask by IP address, or as localhost."},
	{errBodyTooLarge, bodyTooLarge, "The body is larger than 64 KiB."},
	{errNotJSON, notJSON, "Send the body as Content-Type: application/json."},
	{errNotReady, reducedCapacity, "The database cannot be reached, or its schema is not up to date."},
	{errLimitsUnknown, reducedCapacity, "Not all limits can be asked just now."},
	{errUnavailable, reducedCapacity, "The database cannot be reached just now. Nothing is known to have failed: send it again."},

	{auth.ErrNoCredentials, noCredentials, "Send a token as Authorization: Bearer <token>. POST /sessions gives one."},
	{auth.ErrMalformedCredentials, invalidToken, invalidTokenDetail},
	{auth.ErrInvalidToken, invalidToken, invalidTokenDetail},
	{auth.ErrTwoCredentials, twoCredentials, "Send one Authorization header."},
	{auth.ErrSessionRequired, sessionRequired, "Log in to do this: an API key must not make or end what outlives it."},
	{auth.ErrBadCredentials, badCredentials, "No user has this e-mail address and this password."},
	{auth.ErrBusy, reducedCapacity, "Too many passwords are being checked just now."},
	{auth.ErrInvalidReset, resetInvalid, "The token is unknown, used or too old. Ask for a new one."},
	{auth.ErrTooManyResets, reducedCapacity, "Too many mails are on their way just now."},
	{auth.ErrEmailTaken, emailTaken, "A user with this e-mail address exists. Log in instead."},
	{auth.ErrInvalidEmail, validation, "The e-mail address is not one that mail can be sent to."},
	{auth.ErrWeakPassword, weakPassword, "Take at least 15 characters, and not what everybody tries first."},
	{auth.ErrInvalidAPIKeyName, validation, "The name must be 1 to 64 printable characters."},
	{auth.ErrTooManyAPIKeys, tooManyAPIKeys, "Revoke one that is not used any more."},
	{auth.ErrAPIKeyNotFound, apiKeyNotFound, "The key does not exist, is revoked, or is not yours."},

	{idempotency.ErrKeyMissing, keyMissing, "Send an Idempotency-Key of your own making, and the same one with every retry."},
	{idempotency.ErrKeyInvalid, keyInvalid, `A key is one value of 1 to 255 visible ASCII characters without quotation marks inside, backslash, comma and semicolon.`},

	{transfers.ErrAccountNotFound, accountNotFound, "The account does not exist, or it is not yours."},
	{transfers.ErrTransferNotFound, transferMissing, "The transfer does not exist, or no account of yours took part in it."},
	{transfers.ErrRecipientNotFound, recipient, "Check to_account: nobody has this account."},
	{transfers.ErrSameAccount, sameAccount, "Money cannot be sent to the account it comes from."},
	{transfers.ErrUnknownCurrency, currencyUnknown, "The bank keeps no accounts in this currency."},
	{transfers.ErrCurrencyMismatch, currencyDiffers, "Both accounts must have the currency of the transfer: the bank does not exchange."},
	{transfers.ErrAccountFrozen, frozen, "The sending account is frozen. It neither sends nor receives."},
	{transfers.ErrRecipientFrozen, recipientFrozen, "The receiving account is frozen. It neither sends nor receives."},
	{transfers.ErrInsufficientFunds, noFunds, "The balance does not cover the amount. No money has moved."},
	{transfers.ErrAmountOutOfRange, outOfRange, "The amount is larger than the receiving account can take."},
	{transfers.ErrTooManyAccounts, tooManyAccounts, "Use one of those you have."},
	{transfers.ErrInvalidMemo, validation, "The memo must be text of at most 140 characters."},
	{transfers.ErrInvalidName, validation, "The name must be text of at most 64 characters."},
	{transfers.ErrKeyInUse, keyInUse, "The first request with this key has not been answered yet. Send it again to get its answer."},
	{transfers.ErrOverloaded, reducedCapacity, "The order cannot be settled in time. Send it again with the same key: it will be executed once."},

	{webhooks.ErrInvalidURL, validation, "Events cannot be sent to this URL."},
	{webhooks.ErrTooManyWebhooks, tooManyWebhooks, "Delete one that is not needed any more."},
	{webhooks.ErrWebhookNotFound, webhookMissing, "The webhook does not exist, is deleted, or is not yours."},

	{ratelimit.ErrShaperFull, reducedCapacity, "Too much is waiting for a partner just now."},
	{rates.ErrUnknownBase, ratesNotFound, "No rates are published for this currency."},

	{context.DeadlineExceeded, timedOut, "The request was given up after its time limit. Nothing is known to have failed: send it again."},
	{context.Canceled, timedOut, "The client went away."},
}

const (
	keyReusedDetail    = "The key belongs to another request. Use a new key for a new intent."
	invalidTokenDetail = "The token is unknown, expired, revoked or malformed. Log in again."
)

// problemOf finds the problem of an error. An error that is not in the table is a bare 500: the caller logs it.
func problemOf(err error) Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return *p
	}
	if _, ok := errors.AsType[*transfers.KeyReusedError](err); ok {
		return Problem{Type: keyReused, Detail: keyReusedDetail}
	}
	if weak, ok := errors.AsType[*auth.WeakPasswordError](err); ok {
		return Problem{Type: weakPassword, Detail: "The password " + weak.Reason + ".",
			Faults: []Fault{{Pointer: "#/password", Detail: "The password " + weak.Reason + "."}}}
	}
	if url, ok := errors.AsType[*webhooks.URLError](err); ok {
		return Problem{Type: validation, Detail: "See errors for each fault.",
			Faults: []Fault{{Pointer: "#/url", Detail: "The URL " + url.Reason + "."}}}
	}
	for _, row := range rows {
		if errors.Is(err, row.err) {
			return Problem{Type: row.is, Detail: row.detail}
		}
	}
	if unavailable(err) {
		return problemOf(errUnavailable)
	}
	return Problem{Type: internal}
}
