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

// postings turns the rows of transfers into columns.
func postings(verdicts []verdict) []any {
	rows := make([]*posting, 0, len(verdicts))
	for _, v := range verdicts {
		if v.posting != nil {
			rows = append(rows, v.posting)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return []any{
		columnOf(rows, func(p *posting) pgtype.UUID { return uuid(p.ID) }),
		columnOf(rows, func(p *posting) pgtype.UUID { return uuid(p.From) }),
		columnOf(rows, func(p *posting) pgtype.UUID { return uuid(p.To) }),
		columnOf(rows, func(p *posting) pgtype.Int8 { return int8(p.Amount) }),
		columnOf(rows, func(p *posting) pgtype.Text { return text(p.Currency) }),
		columnOf(rows, func(p *posting) pgtype.Text { return text(p.Memo) }),
		columnOf(rows, func(p *posting) pgtype.Int8 { return int8(p.fromSequence) }),
		columnOf(rows, func(p *posting) pgtype.Int8 { return int8(p.fromBalance) }),
		columnOf(rows, func(p *posting) pgtype.Int8 { return int8(p.toSequence) }),
		columnOf(rows, func(p *posting) pgtype.Int8 { return int8(p.toBalance) }),
	}
}

// keptAnswer is a row of idempotency_keys.
type keptAnswer struct {
	*Order
	*Receipt
}

// answers turns the rows of idempotency_keys into columns.
func answers(orders []*Order, verdicts []verdict) []any {
	rows := make([]keptAnswer, 0, len(verdicts))
	for i := range verdicts {
		if v := &verdicts[i]; v.keep {
			rows = append(rows, keptAnswer{orders[i], &v.receipt})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return []any{
		columnOf(rows, func(k keptAnswer) pgtype.UUID { return uuid(k.Owner) }),
		columnOf(rows, func(k keptAnswer) pgtype.Text { return text(k.Scope) }),
		columnOf(rows, func(k keptAnswer) pgtype.Text { return text(k.Key) }),
		columnOf(rows, func(k keptAnswer) octets { return k.Fingerprint }),
		columnOf(rows, func(k keptAnswer) pgtype.Int2 { return pgtype.Int2{Int16: int16(k.Status), Valid: true} }),
		columnOf(rows, func(k keptAnswer) octets { return k.Body }),
		columnOf(rows, func(k keptAnswer) pgtype.UUID {
			return pgtype.UUID{Bytes: k.Transfer, Valid: k.Transfer != TransferID{}}
		}),
	}
}

// column is an array for PostgreSQL whose elements are encoded where they are: neither copied to the heap one by one nor
// looked at by reflection.
type column[T any] []T

var _ pgtype.ArrayGetter = column[pgtype.UUID](nil)

func columnOf[Row, T any](rows []Row, cell func(Row) T) column[T] {
	c := make(column[T], len(rows))
	for i, row := range rows {
		c[i] = cell(row)
	}
	return c
}

func (c column[T]) Dimensions() []pgtype.ArrayDimension {
	return []pgtype.ArrayDimension{{Length: int32(len(c)), LowerBound: 1}} //nolint:gosec // a batch is small
}
func (c column[T]) Index(i int) any { return &c[i] }
func (c column[T]) IndexType() any  { return new(T) }

// octets are a value of bytea; nil is an empty one.
type octets []byte

func (o octets) BytesValue() ([]byte, error) {
	if o == nil {
		return []byte{}, nil
	}
	return o, nil
}

func uuid[ID ~[16]byte](value ID) pgtype.UUID { return pgtype.UUID{Bytes: value, Valid: true} }
func text(value string) pgtype.Text           { return pgtype.Text{String: value, Valid: true} }
func int8[N ~int64](value N) pgtype.Int8      { return pgtype.Int8{Int64: int64(value), Valid: true} }
