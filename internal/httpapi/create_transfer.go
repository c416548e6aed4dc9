package httpapi

import (
	"errors"
	"net/http"
	"strconv"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/idempotency"
	"example.com/bankapi/internal/transfers"
)

const (
	transferPattern = "/transfers"
	transferScope   = "POST " + transferPattern // where its idempotency keys live

	// maxMemo is the longest memo, in characters.
	maxMemo = 140
)

// createTransfer moves money once per Idempotency-Key, however often it is asked to.
func (a *api) createTransfer(w http.ResponseWriter, r *http.Request, caller auth.Principal) error {
	key, err := idempotency.ParseKey(r.Header["Idempotency-Key"])
	if err != nil {
		return err
	}
	order, err := readOrder(r)
	if err != nil {
		return err
	}
	order.Owner, order.Key, order.Scope = owner(caller), string(key), transferScope
	order.Fingerprint = fingerprint(order)
	order.Render = renderTransfer(exchangeOf(r).id)

	slot, err := a.reserveOrder(w, r, order)
	if err != nil {
		return err
	}
	receipt, err := a.Transfers.Transfer(r.Context(), order)
	if err != nil {
		slot.giveBack()
		return reuse(err, order.Fingerprint)
	}
	a.settleOrder(r, slot, receipt)
	sendReceipt(w, receipt)
	return nil
}

func readOrder(r *http.Request) (transfers.Order, error) {
	body, err := readFields(r)
	if err != nil {
		return transfers.Order{}, err
	}
	order := transfers.Order{
		From:     body.accountID("from_account"),
		To:       body.accountID("to_account"),
		Amount:   transfers.Amount(body.amount("amount")),
		Currency: body.currency("currency"),
		Memo:     body.optionalText("memo", maxMemo),
	}
	return order, body.err()
}

// fingerprint is what makes two requests the same order: what was decoded, not how it was spelled.
func fingerprint(o transfers.Order) []byte {
	return idempotency.Fingerprint(http.MethodPost, transferPattern,
		idempotency.Field{Name: "from_account", Value: o.From.String()},
		idempotency.Field{Name: "to_account", Value: o.To.String()},
		idempotency.Field{Name: "amount", Value: strconv.FormatInt(int64(o.Amount), 10)},
		idempotency.Field{Name: "currency", Value: o.Currency},
		idempotency.Field{Name: "memo", Value: o.Memo},
	).Bytes()
}

// renderTransfer makes the answer that is stored with the key. A replay repeats its bytes, so a refusal names for ever the
// request that was refused.
func renderTransfer(requestID string) func(transfers.Outcome) transfers.Response {
	return func(o transfers.Outcome) transfers.Response {
		if o.Refusal != nil {
			problem := problemOf(o.Refusal)
			return transfers.Response{Status: problem.Type.Status, Body: problem.append(nil, transferPattern, requestID)}
		}
		body, err := encode(transferShape(o.Transfer))
		if err != nil {
			panic(err) // a struct of strings and numbers always encodes
		}
		return transfers.Response{Status: http.StatusCreated, Body: body}
	}
}

// sendReceipt sends the stored bytes with the headers of this request.
func sendReceipt(w http.ResponseWriter, receipt transfers.Receipt) {
	contentType := "application/json"
	if receipt.Status >= http.StatusBadRequest {
		contentType = "application/problem+json"
	} else {
		setHeader(w.Header(), "Location", transferPattern+"/"+receipt.Transfer.String())
	}
	if receipt.Replayed {
		setHeader(w.Header(), "Idempotent-Replayed", "true")
	}
	send(w, receipt.Status, contentType, receipt.Body)
}

// reuse names the fields in which an order differs from the first one under its key. Their old values stay secret.
func reuse(err error, now []byte) error {
	reused, ok := errors.AsType[*transfers.KeyReusedError](err)
	if !ok {
		return err
	}
	var faults []Fault
	for _, name := range idempotency.Differ(reused.Stored, now) {
		faults = append(faults, Fault{Pointer: pointer(name), Detail: "Differs from the first request with this key."})
	}
	return &Problem{Type: keyReused, Detail: keyReusedDetail, Faults: faults}
}
