package httpapi

import (
	"context"
	"errors"
	"net/http"
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
	accountNotFound = own("account-not-found", http.StatusNotFound, "No such account of yours")
	transferMissing = own("transfer-not-found", http.StatusNotFound, "No such transfer of yours")
	apiKeyNotFound  = own("api-key-not-found", http.StatusNotFound, "No such API key of yours")
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
	noFunds         = own("insufficient-funds", http.StatusUnprocessableEntity, "The balance is too low")
	timedOut        = retry(own("timed-out", http.StatusServiceUnavailable, "The request took too long"), 1)

	quotaExceeded = &ProblemType{URI: iana + "quota-exceeded", Status: http.StatusTooManyRequests, Retryable: true,
		Title: "Request cannot be satisfied as assigned quota has been exceeded"}
	reducedCapacity = retry(&ProblemType{URI: iana + "temporary-reduced-capacity", Status: http.StatusServiceUnavailable,
		Title: "Request cannot be satisfied due to temporary server capacity constraints"}, 1)

	notFound         = plain(http.StatusNotFound)
	methodNotAllowed = plain(http.StatusMethodNotAllowed)
	bodyTooLarge     = plain(http.StatusRequestEntityTooLarge)
	notJSON          = plain(http.StatusUnsupportedMediaType)
	internal         = plain(http.StatusInternalServerError)
)

// types lists the problem types for those who check them against the document and the pages.
var types = []*ProblemType{
	malformedBody, validation, weakPassword, twoCredentials, keyMissing, keyInvalid, noCredentials, invalidToken, badCredentials,
	accountNotFound, transferMissing, apiKeyNotFound, ratesNotFound, emailTaken, keyInUse, keyReused, recipient, sameAccount,
	currencyUnknown, currencyDiffers, frozen, recipientFrozen, outOfRange, tooManyAccounts, noFunds, timedOut, quotaExceeded, reducedCapacity, notFound, methodNotAllowed,
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

// rows is the table: which error becomes which problem, and what is said about it. The first match counts.
var rows = []struct {
	err    error
	is     *ProblemType
	detail string
}{
	{errNotFound, notFound, "There is nothing at this address."},
	{errMethodNotAllowed, methodNotAllowed, "This address does not take that method. Allow lists those it takes."},
	{errBodyTooLarge, bodyTooLarge, "The body is larger than 64 KiB."},
	{errNotJSON, notJSON, "Send the body as Content-Type: application/json."},
	{context.DeadlineExceeded, timedOut, "The request was given up after its time limit. Nothing is known to have failed: send it again."},
	{context.Canceled, timedOut, "The client went away."},
}

// problemOf finds the problem of an error. An error that is not in the table is a bare 500: the caller logs it.
func problemOf(err error) Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return *p
	}
	for _, row := range rows {
		if errors.Is(err, row.err) {
			return Problem{Type: row.is, Detail: row.detail}
		}
	}
	return Problem{Type: internal}
}
