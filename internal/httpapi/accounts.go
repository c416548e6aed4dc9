package httpapi

import (
	"net/http"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/transfers"
)

// maxNameLength is the longest name of an account or an API key, in characters.
const maxNameLength = 64

func (a *api) openAccount(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	body, err := readFields(r)
	if err != nil {
		return err
	}
	currency, name := body.currency("currency"), body.optionalText("name", maxNameLength)
	if err := body.err(); err != nil {
		return err
	}
	account, err := a.Transfers.OpenAccount(r.Context(), owner(caller), currency, name)
	if err != nil {
		return err
	}
	return created(w, "/accounts/"+account.ID.String(), accountShape(account))
}

func (a *api) getAccount(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	id, err := accountParam(r)
	if err != nil {
		return err
	}
	account, err := a.Transfers.Account(r.Context(), owner(caller), id)
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, accountShape(account))
}

// owner is the ledger's name for a user.
func owner(caller auth.Principal) transfers.OwnerID {
	return transfers.OwnerID(caller.User)
}

func accountParam(r *http.Request) (transfers.AccountID, error) {
	id, err := transfers.ParseAccountID(pathParam(r, "id"))
	if err != nil {
		return id, malformedID("acct")
	}
	return id, nil
}

func malformedID(prefix string) error {
	return invalid(Fault{Parameter: "id", Detail: `Must be an id: "` + prefix + `_" and 26 lower-case letters and digits.`})
}

// accountID takes the id of an account.
func (f *fields) accountID(name string) transfers.AccountID {
	text := f.text(name, 64)
	id, err := transfers.ParseAccountID(text)
	if text != "" && err != nil {
		f.fault(name, `Must be an id: "acct_" and 26 lower-case letters and digits.`)
	}
	return id
}
