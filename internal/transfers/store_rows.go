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
	var (
		ids                               []TransferID
		from, to                          []AccountID
		amounts, fromBalances, toBalances []Amount
		currencies, memos                 []string
		fromSequences, toSequences        []int64
	)
	for _, v := range verdicts {
		p := v.posting
		if p == nil {
			continue
		}
		ids, from, to, amounts = append(ids, p.ID), append(from, p.From), append(to, p.To), append(amounts, p.Amount)
		currencies, memos = append(currencies, p.Currency), append(memos, p.Memo)
		fromSequences, fromBalances = append(fromSequences, p.fromSequence), append(fromBalances, p.fromBalance)
		toSequences, toBalances = append(toSequences, p.toSequence), append(toBalances, p.toBalance)
	}
	if len(ids) == 0 {
		return nil
	}
	return []any{ids, from, to, amounts, currencies, memos, fromSequences, fromBalances, toSequences, toBalances}
}

// answers turns the rows of idempotency_keys into columns.
func answers(orders []*Order, verdicts []verdict) []any {
	var (
		owners               []OwnerID
		scopes, keys         []string
		fingerprints, bodies [][]byte
		statuses             []int16
		transfers            []pgtype.UUID
	)
	for i, v := range verdicts {
		if !v.keep {
			continue
		}
		o, r := orders[i], v.receipt
		owners, scopes, keys = append(owners, o.Owner), append(scopes, o.Scope), append(keys, o.Key)
		fingerprints, bodies = append(fingerprints, o.Fingerprint), append(bodies, r.Body)
		statuses = append(statuses, int16(r.Status))
		transfers = append(transfers, pgtype.UUID{Bytes: r.Transfer, Valid: r.Transfer != TransferID{}})
	}
	if len(owners) == 0 {
		return nil
	}
	return []any{owners, scopes, keys, fingerprints, statuses, bodies, transfers}
}
