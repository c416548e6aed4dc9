package transfers

import (
	"strings"
	"time"
	"unicode/utf8"

	"example.com/bankapi/internal/id"
)

// The identifiers of the ledger are distinct types, so that the compiler keeps them apart.
type (
	// OwnerID names the user that accounts belong to.
	OwnerID id.ID
	// AccountID names an account.
	AccountID id.ID
	// TransferID names a transfer. Along the history of an account they rise.
	TransferID id.ID
)

// ParseAccountID reads "acct_..."; anything but the canonical spelling is [id.ErrMalformed].
func ParseAccountID(s string) (AccountID, error) {
	parsed, err := id.Parse("acct", s)
	return AccountID(parsed), err
}

// ParseTransferID reads "tr_..."; anything but the canonical spelling is [id.ErrMalformed].
func ParseTransferID(s string) (TransferID, error) {
	parsed, err := id.Parse("tr", s)
	return TransferID(parsed), err
}

func (o OwnerID) String() string    { return id.ID(o).Encode("usr") }
func (a AccountID) String() string  { return id.ID(a).Encode("acct") }
func (t TransferID) String() string { return id.ID(t).Encode("tr") }

// Transfer is money that moved. It never changes.
type Transfer struct {
	ID        TransferID
	From, To  AccountID
	Amount    Amount // 1..MaxAmount
	Currency  string
	Memo      string
	CreatedAt time.Time // UTC, whole microseconds
}

// Order asks for a transfer. Owner, Key and Scope together name it: the ledger executes one order of a name, ever.
type Order struct {
	Owner    OwnerID // who asks; From must be theirs
	From, To AccountID
	Amount   Amount
	Currency string
	Memo     string

	Key         string // the client's idempotency key, parsed
	Scope       string // method and route pattern: one key may be used once in each
	Fingerprint []byte // of the decoded request; another one under the same key is a KeyReusedError

	// Render makes the answer whose bytes are stored with the key and replayed. It is pure and does not block: it runs
	// while the accounts are locked.
	Render func(Outcome) Response
}

// Outcome is what the ledger decided about an order.
type Outcome struct {
	Transfer Transfer // if refused, what was asked for, with a zero ID
	Refusal  error    // nil, ErrInsufficientFunds, ErrAccountFrozen or ErrRecipientFrozen
}

// Response is the rendered answer.
type Response struct {
	Status int // 200..499
	Body   []byte
}

// Receipt is the answer to an order: the first one, or the same once more.
type Receipt struct {
	Response
	Transfer TransferID // zero if the order was refused
	Replayed bool       // an earlier order of the same name was answered with this
}

// validate refuses what no look at the ledger is needed for.
func (o *Order) validate() error {
	switch {
	case o.Amount < 1 || o.Amount > MaxAmount:
		return ErrAmountOutOfRange
	case o.From == o.To:
		return ErrSameAccount
	case !isText(o.Memo, MaxMemo):
		return ErrInvalidMemo
	}
	return nil
}

// isText reports whether PostgreSQL can store s as text of at most limit code points.
func isText(s string, limit int) bool {
	return utf8.ValidString(s) && !strings.ContainsRune(s, 0) && utf8.RuneCountInString(s) <= limit
}
