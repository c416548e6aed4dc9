package transfers

import (
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// readAccounts leaves system accounts out: to customers they do not exist.
func (b *book) readAccounts(rows pgx.Rows) error {
	for rows.Next() {
		var accountID AccountID
		var owner pgtype.UUID
		var a account
		if err := rows.Scan(&accountID, &owner, &a.currency, &a.frozen, &a.balance, &a.sequence, &a.lastTransfer); err != nil {
			return err
		}
		if a.owner = owner.Bytes; owner.Valid {
			b.accounts[accountID] = &a
		}
	}
	return rows.Err()
}

func (b *book) readAnswers(rows pgx.Rows) error {
	for rows.Next() {
		var n name
		var a answer
		var transfer pgtype.UUID
		if err := rows.Scan(&n.owner, &n.scope, &n.key, &a.fingerprint, &a.receipt.Status, &a.receipt.Body, &transfer); err != nil {
			return err
		}
		a.receipt.Transfer = transfer.Bytes
		b.answers[n] = a
	}
	return rows.Err()
}

// postings are the columns of transfers to be inserted, or nil.
func postings(verdicts []verdict) [][]byte {
	rows := make([]*posting, 0, len(verdicts))
	for _, v := range verdicts {
		if v.posting != nil {
			rows = append(rows, v.posting)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return [][]byte{
		uuids(rows, func(p *posting) TransferID { return p.ID }),
		uuids(rows, func(p *posting) AccountID { return p.From }),
		uuids(rows, func(p *posting) AccountID { return p.To }),
		bigints(rows, func(p *posting) Amount { return p.Amount }),
		texts(rows, func(p *posting) string { return p.Currency }),
		texts(rows, func(p *posting) string { return p.Memo }),
		bigints(rows, func(p *posting) int64 { return p.fromSequence }),
		bigints(rows, func(p *posting) Amount { return p.fromBalance }),
		bigints(rows, func(p *posting) int64 { return p.toSequence }),
		bigints(rows, func(p *posting) Amount { return p.toBalance }),
	}
}

// keptAnswer is a row of idempotency_keys.
type keptAnswer struct {
	*Order
	*Receipt
}

// answers are the columns of idempotency_keys to be inserted, or nil.
func answers(orders []*Order, verdicts []verdict) [][]byte {
	rows := make([]keptAnswer, 0, len(verdicts))
	for i := range verdicts {
		if v := &verdicts[i]; v.keep {
			rows = append(rows, keptAnswer{orders[i], &v.receipt})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return [][]byte{
		uuids(rows, func(k keptAnswer) OwnerID { return k.Owner }),
		texts(rows, func(k keptAnswer) string { return k.Scope }),
		texts(rows, func(k keptAnswer) string { return k.Key }),
		byteas(rows, func(k keptAnswer) []byte { return k.Fingerprint }),
		smallints(rows, func(k keptAnswer) int16 { return int16(k.Status) }),
		byteas(rows, func(k keptAnswer) []byte { return k.Body }),
		array(pgtype.UUIDOID, 16, rows, func(dst []byte, k keptAnswer) []byte {
			if k.Transfer == (TransferID{}) {
				return nil
			}
			return append(dst, k.Transfer[:]...)
		}),
	}
}
