package transfers

import (
	"bytes"
	"math"
	"time"
)

// book is what a batch sees once its accounts are locked. Judging advances it, so that each order meets what the orders
// before it left.
type book struct {
	accounts map[AccountID]*account // of customers; who is missing here does not exist
	answers  map[name]answer        // of the batch's keys: committed earlier, or given while judging
	now      time.Time
	newID    func() TransferID // rising, as far as the clock does
}

// newBook is the book of some orders before anything is known.
func newBook(orders []*Order) *book {
	b := &book{accounts: make(map[AccountID]*account, 2*len(orders)), answers: make(map[name]answer, len(orders))}
	for _, o := range orders {
		b.accounts[o.From], b.accounts[o.To] = nil, nil
	}
	return b
}

// ids are those of the accounts concerned.
func (b *book) ids() []AccountID {
	ids := make([]AccountID, 0, len(b.accounts))
	for accountID := range b.accounts {
		ids = append(ids, accountID)
	}
	return ids
}

// account is a locked row.
type account struct {
	owner        OwnerID
	currency     string
	frozen       bool
	balance      Amount
	sequence     int64
	lastTransfer TransferID
}

// name is what an order is known by: the ledger executes one order of a name, ever.
type name struct {
	owner      OwnerID
	scope, key string
}

// answer is what is stored with a key.
type answer struct {
	fingerprint []byte
	receipt     Receipt
}

// verdict is the answer to one order, and what has to be committed before it is given.
type verdict struct {
	receipt Receipt
	err     error
	posting *posting // nil if no money moves
	keep    bool     // store the receipt with the key
}

// posting is a row of transfers: the transfer and what it leaves on either side.
type posting struct {
	Transfer
	fromSequence, toSequence int64
	fromBalance, toBalance   Amount
}

// judge decides the orders in the order of their arrival. It is a function of its arguments and does no I/O.
func judge(b *book, orders []*Order) []verdict {
	verdicts := make([]verdict, len(orders))
	for i, order := range orders {
		verdicts[i] = b.decide(order)
	}
	return verdicts
}

// decide looks for an earlier answer first: a repeated order is answered as it was, whatever happened to its accounts.
func (b *book) decide(o *Order) verdict {
	if earlier, ok := b.answers[o.name()]; ok {
		return earlier.again(o.Fingerprint)
	}
	from, to, err := b.sides(o)
	if err != nil {
		return verdict{err: err}
	}
	transfer := Transfer{From: o.From, To: o.To, Amount: o.Amount, Currency: o.Currency, Memo: o.Memo, CreatedAt: b.now}
	if refusal := refuse(from, to, o.Amount); refusal != nil {
		return b.keep(o, Outcome{Transfer: transfer, Refusal: refusal})
	}
	transfer.ID = b.nextID(from, to)
	moved := move(from, to, transfer)
	v := b.keep(o, Outcome{Transfer: transfer})
	v.posting = &moved
	return v
}

// sides finds both accounts, or says why the order cannot be one; such an answer is not kept.
func (b *book) sides(o *Order) (from, to *account, err error) {
	from, to = b.accounts[o.From], b.accounts[o.To]
	switch {
	case from == nil || from.owner != o.Owner:
		return nil, nil, ErrAccountNotFound
	case to == nil:
		return nil, nil, ErrRecipientNotFound
	case from.currency != o.Currency || to.currency != o.Currency:
		return nil, nil, ErrCurrencyMismatch
	case to.balance > math.MaxInt64-o.Amount:
		return nil, nil, ErrAmountOutOfRange
	}
	return from, to, nil
}

// refuse applies the rules whose answer depends on the moment and is therefore kept.
func refuse(from, to *account, amount Amount) error {
	switch {
	case from.frozen:
		return ErrAccountFrozen
	case to.frozen:
		return ErrRecipientFrozen
	case from.balance < amount:
		return ErrInsufficientFunds
	}
	return nil
}

// move advances both accounts by one entry.
func move(from, to *account, t Transfer) posting {
	for _, side := range []*account{from, to} {
		side.sequence++
		side.lastTransfer = t.ID
	}
	from.balance -= t.Amount
	to.balance += t.Amount
	return posting{
		Transfer:     t,
		fromSequence: from.sequence, fromBalance: from.balance,
		toSequence: to.sequence, toBalance: to.balance,
	}
}

// keep renders the answer and lets the later orders of the batch see it.
func (b *book) keep(o *Order, outcome Outcome) verdict {
	receipt := Receipt{Response: o.Render(outcome), Transfer: outcome.Transfer.ID}
	b.answers[o.name()] = answer{fingerprint: o.Fingerprint, receipt: receipt}
	return verdict{receipt: receipt, keep: true}
}

// again answers an order whose key has been answered before.
func (a answer) again(fingerprint []byte) verdict {
	if !bytes.Equal(a.fingerprint, fingerprint) {
		return verdict{err: &KeyReusedError{Stored: a.fingerprint}}
	}
	receipt := a.receipt
	receipt.Replayed = true
	return verdict{receipt: receipt}
}

func (o *Order) name() name { return name{owner: o.Owner, scope: o.Scope, key: o.Key} }
