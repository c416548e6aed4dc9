package transfers

import "errors"

// Refusals that are decided under the locks. Their answers are stored with the key and replayed.
var (
	ErrInsufficientFunds = errors.New("the balance does not cover the amount")
	ErrAccountFrozen     = errors.New("the source account is frozen")
	ErrRecipientFrozen   = errors.New("the receiving account is frozen")
)

// Refusals that leave the key free: the same key may carry a corrected order.
var (
	ErrAccountNotFound   = errors.New("no such account of this owner")  // absent and somebody else's are one and the same
	ErrRecipientNotFound = errors.New("no such receiving account")      // system accounts count as absent
	ErrTransferNotFound  = errors.New("no such transfer of this owner") // absent, or on neither side
	ErrSameAccount       = errors.New("source and receiver are the same")
	ErrCurrencyMismatch  = errors.New("an account has another currency")
	ErrUnknownCurrency   = errors.New("no such currency")                   // not in the registry
	ErrAmountOutOfRange  = errors.New("amount out of range")                // 1..MaxAmount, or the receiver's balance is full
	ErrInvalidMemo       = errors.New("memo is not text or is too long")    // MaxMemo code points
	ErrInvalidName       = errors.New("name is not text or is too long")    // MaxName code points
	ErrTooManyAccounts   = errors.New("the owner has too many accounts")    // MaxAccounts
	ErrKeyInUse          = errors.New("the key's first order is under way") // and did not finish within the deadline
)

// ErrOverloaded means that the order cannot be taken in time: the queue is full, the deadline too near, the service is
// stopping, or the database does not answer. The same key may be sent again and settles what happened.
var ErrOverloaded = errors.New("cannot take the order in time")

// KeyReusedError means that the key already belongs to an order with another fingerprint.
type KeyReusedError struct {
	Stored []byte // the fingerprint the key was first used with
}

func (e *KeyReusedError) Error() string { return "the key belongs to another order" }
