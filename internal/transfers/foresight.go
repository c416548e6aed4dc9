package transfers

// foresight is what the writer remembers of accounts: how they will stand once all that it has sent is committed. A batch
// whose accounts are all remembered is judged by that and written without locking them first; ledger_post then refuses it
// if anybody else has moved one of them, and the unique key if an order was answered before. What is judged here is never
// the reason of a refusal.
//
// Batches that come after one that was refused are locked, the more of them the more often that happens: where several
// instances work on the same accounts, foresight costs next to nothing and gains nothing.
type foresight struct {
	limit    int // accounts remembered
	accounts map[AccountID]account
	caution  int // batches that are locked after the next refusal
	rest     int // batches that are still to be locked
}

const (
	accountsRemembered = 1 << 16 // some 10 MB
	mostCaution        = 256
)

func newForesight(limit int) *foresight {
	return &foresight{limit: limit, accounts: make(map[AccountID]account)}
}

// foresee returns a book of the orders as if their accounts were locked and their keys new, or nil.
func (f *foresight) foresee(orders []*Order) *book {
	if f.rest > 0 {
		f.rest--
		return nil
	}
	b := newBook(orders)
	foreseen := make([]account, 0, len(b.accounts))
	for accountID := range b.accounts {
		a, known := f.accounts[accountID]
		if !known {
			return nil
		}
		foreseen = append(foreseen, a)
		b.accounts[accountID] = &foreseen[len(foreseen)-1]
	}
	return b
}

// foreseeable reports whether verdicts may be sent unlocked: each is a transfer, or repeats one of the same batch. Only
// these does the database check.
func foreseeable(verdicts []verdict) bool {
	for _, v := range verdicts {
		if v.err != nil || v.posting == nil && !v.receipt.Replayed {
			return false
		}
	}
	return true
}

// remember notes how a book leaves its accounts, once its writes are on their way.
func (f *foresight) remember(b *book) {
	for accountID, a := range b.accounts {
		if a != nil {
			f.accounts[accountID] = *a
		}
	}
	for accountID := range f.accounts { // in no order: whoever is missed will be locked, and is then remembered again
		if len(f.accounts) <= f.limit {
			break
		}
		delete(f.accounts, accountID)
	}
}

// forget is for when something that was sent has not been committed.
func (f *foresight) forget() { clear(f.accounts) }

// hit notes that a batch was foreseen as it came, miss that it was not.
func (f *foresight) hit() { f.caution = max(f.caution-1, 0) }

func (f *foresight) miss() {
	f.forget()
	f.caution = min(2*f.caution+1, mostCaution)
	f.rest = f.caution
}
