package httpapi

import (
	"net/http"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/id"
	"example.com/bankapi/internal/idempotency"
	"example.com/bankapi/internal/transfers"
)

func (a *api) getTransfer(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	transferID, err := transfers.ParseTransferID(pathParam(r, "id"))
	if err != nil {
		return malformedID("tr")
	}
	transfer, err := a.Transfers.GetTransfer(r.Context(), owner(caller), transferID)
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, transferShape(transfer))
}

type keyJSON struct {
	Key        string            `json:"key"`
	State      idempotency.State `json:"state"`
	Status     int               `json:"status,omitempty"`
	TransferID string            `json:"transfer_id,omitempty"`
}

// getKey says what became of a key of POST /transfers. Whether it is in flight is asked first: an order that commits
// between the two questions is then found by the second.
func (a *api) getKey(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	key, err := idempotency.ParseKey([]string{pathParam(r, "key")})
	if err != nil {
		return err
	}
	inFlight := a.Transfers.InFlight(owner(caller), transferScope, string(key))
	record, err := a.Keys.Find(r.Context(), id.ID(caller.User), transferScope, string(key))
	if err != nil {
		return err
	}
	if record.State == idempotency.Unknown && inFlight {
		record.State = idempotency.InProgress
	}
	shape := keyJSON{Key: string(key), State: record.State, Status: record.Status}
	if !record.Transfer.IsZero() {
		shape.TransferID = record.Transfer.Encode("tr")
	}
	return respond(w, http.StatusOK, shape)
}
