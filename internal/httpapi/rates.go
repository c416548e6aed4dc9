package httpapi

import (
	"net/http"
	"time"
)

type ratesJSON struct {
	Base  string            `json:"base"`
	AsOf  time.Time         `json:"as_of"`
	Rates map[string]string `json:"rates"` // decimals as strings: no float loses a digit
}

const defaultBase = "NGN"

func (a *api) getRates(w http.ResponseWriter, r *http.Request) error {
	base := defaultBase
	if query := r.URL.Query(); query.Has("base") {
		base = query.Get("base")
	}
	if !isCurrencyCode(base) {
		return invalid(Fault{Parameter: "base", Detail: "Must be a currency code of three capital letters, such as NGN."})
	}
	table, err := a.Rates.Latest(r.Context(), base)
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, ratesJSON{Base: table.Base, AsOf: table.AsOf.UTC(), Rates: table.Rates})
}
