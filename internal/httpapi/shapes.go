package httpapi

import (
	"time"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/transfers"
)

// The JSON of the answers, as api/openapi.yaml describes it. Money is whole minor units, times are UTC.

type userJSON struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	Plan      string    `json:"plan"`
	CreatedAt time.Time `json:"created_at"`
}

func userShape(u auth.User) userJSON {
	return userJSON{ID: u.ID.String(), Email: u.Email, Plan: u.Plan, CreatedAt: u.CreatedAt.UTC()}
}

type accountJSON struct {
	ID        string    `json:"id"`
	Currency  string    `json:"currency"`
	Name      string    `json:"name"`
	Balance   int64     `json:"balance"`
	Status    string    `json:"status"`
	CreatedAt time.Time `json:"created_at"`
}

func accountShape(a transfers.Account) accountJSON {
	return accountJSON{
		ID: a.ID.String(), Currency: a.Currency, Name: a.Name, Balance: int64(a.Balance),
		Status: string(a.Status), CreatedAt: a.CreatedAt.UTC(),
	}
}

type entryJSON struct {
	TransferID   string    `json:"transfer_id"`
	Sequence     int64     `json:"sequence"`
	Amount       int64     `json:"amount"` // seen from the account: negative if it sent
	BalanceAfter int64     `json:"balance_after"`
	Counterparty string    `json:"counterparty"`
	Memo         string    `json:"memo"`
	CreatedAt    time.Time `json:"created_at"`
}

func entryShape(e transfers.Entry) entryJSON {
	return entryJSON{
		TransferID: e.Transfer.String(), Sequence: e.Sequence, Amount: int64(e.Amount), BalanceAfter: int64(e.BalanceAfter),
		Counterparty: e.Counterparty.String(), Memo: e.Memo, CreatedAt: e.CreatedAt.UTC(),
	}
}

type transferJSON struct {
	ID          string    `json:"id"`
	FromAccount string    `json:"from_account"`
	ToAccount   string    `json:"to_account"`
	Amount      int64     `json:"amount"`
	Currency    string    `json:"currency"`
	Memo        string    `json:"memo"`
	Status      string    `json:"status"`
	CreatedAt   time.Time `json:"created_at"`
}

// transferShape has one status only: a transfer that is not completed does not exist.
func transferShape(t transfers.Transfer) transferJSON {
	return transferJSON{
		ID: t.ID.String(), FromAccount: t.From.String(), ToAccount: t.To.String(), Amount: int64(t.Amount),
		Currency: t.Currency, Memo: t.Memo, Status: "completed", CreatedAt: t.CreatedAt.UTC(),
	}
}

type apiKeyJSON struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Key       string    `json:"key,omitempty"` // only in the answer that makes it
	Prefix    string    `json:"prefix"`
	Last4     string    `json:"last4"`
	CreatedAt time.Time `json:"created_at"`
}

func apiKeyShape(k auth.APIKeyInfo, secret string) apiKeyJSON {
	return apiKeyJSON{
		ID: k.ID.Encode("key"), Name: k.Name, Key: secret, Prefix: k.Prefix, Last4: k.Last4, CreatedAt: k.CreatedAt.UTC(),
	}
}
