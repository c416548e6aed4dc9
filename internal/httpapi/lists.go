package httpapi

import (
	"bytes"
	"net/http"
	"slices"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/transfers"
)

func (a *api) listAccounts(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	at, err := windowOf(r, "accounts of "+caller.User.String())
	if err != nil {
		return err
	}
	accounts, err := a.Transfers.Accounts(r.Context(), owner(caller))
	if err != nil {
		return err
	}
	position := func(a transfers.Account) [16]byte { return a.ID }
	page, more := cut(accounts, at, position)
	return respondList(w, r, at, page, more, accountShape, position)
}

func (a *api) listAPIKeys(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	at, err := windowOf(r, "API keys of "+caller.User.String())
	if err != nil {
		return err
	}
	keys, err := a.Auth.ListAPIKeys(r.Context(), caller)
	if err != nil {
		return err
	}
	position := func(k auth.APIKeyInfo) [16]byte { return k.ID }
	page, more := cut(keys, at, position)
	return respondList(w, r, at, page, more, func(k auth.APIKeyInfo) apiKeyJSON { return apiKeyShape(k, "") }, position)
}

func (a *api) listEntries(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	account, err := accountParam(r)
	if err != nil {
		return err
	}
	at, err := windowOf(r, "entries of "+account.String())
	if err != nil {
		return err
	}
	rows, more, err := a.Transfers.Entries(r.Context(), owner(caller), account, at.page())
	if err != nil {
		return err
	}
	return respondList(w, r, at, rows, more, entryShape, func(e transfers.Entry) [16]byte { return e.Transfer })
}

func (a *api) listTransfers(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	at, err := windowOf(r, "transfers of "+caller.User.String())
	if err != nil {
		return err
	}
	rows, more, err := a.Transfers.Transfers(r.Context(), owner(caller), at.page())
	if err != nil {
		return err
	}
	return respondList(w, r, at, rows, more, transferShape, func(t transfers.Transfer) [16]byte { return t.ID })
}

func (w window) page() transfers.Page {
	return transfers.Page{Limit: w.limit, Before: transfers.TransferID(w.position)}
}

// cut takes a window out of a short list that its feature returns whole, in any order, and puts the newest first: ids sort
// by the time they were made.
func cut[R any](rows []R, at window, position func(R) [16]byte) (page []R, more bool) {
	compare := func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) }
	rows = slices.SortedFunc(slices.Values(rows), func(a, b R) int { return compare(position(b), position(a)) })
	if at.position != ([16]byte{}) {
		older := slices.IndexFunc(rows, func(row R) bool { return compare(position(row), at.position) < 0 })
		if older < 0 {
			older = len(rows)
		}
		rows = rows[older:]
	}
	if len(rows) > at.limit {
		return rows[:at.limit], true
	}
	return rows, false
}
