package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/bankapi/client"
)

// scripted is a server that answers in turn as written: a status, a body, and Retry-After if there is one.
func scripted(answers ...answer) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		next := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		if next.status == 0 { // the connection breaks after the work is done
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		if next.retryAfter != "" {
			w.Header().Set("Retry-After", next.retryAfter)
		}
		w.WriteHeader(next.status)
		fmt.Fprint(w, next.body)
	}))
}

type answer struct {
	status     int
	body       string
	retryAfter string
}

func ExampleClient() {
	server := scripted(
		answer{201, `{"token":"bank_sess_x","expires_at":"2026-09-25T00:00:00Z","user":{"email":"ada@example.com"}}`, ""},
		answer{200, `{"data":[{"id":"acct_1","currency":"NGN","balance":5000000}],"has_more":false}`, ""},
	)
	defer server.Close()
	ctx := context.Background()

	session, err := client.New(server.URL, "").LogIn(ctx, "ada@example.com", "correct-horse-battery-staple")
	if err != nil {
		fmt.Println(err)
		return
	}
	ada := client.New(server.URL, session.Token)
	for account, err := range ada.Accounts(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(account.ID, account.Balance, account.Currency)
	}
	// Output: acct_1 5000000 NGN
}

// The key is made once, before anything is sent. Three answers are lost or refused; the money moves once.
func ExampleClient_Settle() {
	server := scripted(
		answer{}, // the answer is lost, the money may have moved
		answer{503, `{"type":"/problems/timed-out","retryable":true}`, "1"},
		answer{201, `{"id":"tr_1","amount":12550,"currency":"NGN"}`, ""},
	)
	defer server.Close()
	bank := client.New(server.URL, "bank_key_x")

	intent := client.NewIntent(client.Order{From: "acct_1", To: "acct_2", Amount: 12550, Currency: "NGN"})
	stored, _ := json.Marshal(intent) // keep it until it is settled: a program that dies can go on with it
	_ = stored

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	transfer, err := bank.Settle(ctx, intent)
	fmt.Println(transfer.ID, transfer.Amount, err)
	// Output: tr_1 12550 <nil>
}

// One user, one click, one key: made before the loop, whoever writes the loop.
func ExampleNewKey() {
	server := scripted(answer{status: 500}, answer{status: 500}, answer{201, `{"id":"tr_1"}`, ""})
	defer server.Close()
	bank := &client.Client{URL: server.URL} // without a Retrier

	key := client.NewKey() // here
	for range 3 {
		// not here: each try would be a transfer of its own
		transfer, err := bank.Transfer(context.Background(), key, client.Order{From: "acct_1", To: "acct_2", Amount: 12550, Currency: "NGN"})
		if err == nil {
			fmt.Println(transfer.ID)
			break
		}
	}
	// Output: tr_1
}

func ExampleProblem() {
	server := scripted(answer{422, `{"type":"/problems/insufficient-funds","title":"The balance is too low","request_id":"req_1","retryable":false}`, ""})
	defer server.Close()
	bank := client.New(server.URL, "bank_key_x")

	_, err := bank.Transfer(context.Background(), client.NewKey(), client.Order{Amount: 12550})
	if errors.Is(err, client.ErrInsufficientFunds) {
		fmt.Println("top up, then try with a new key")
	}
	if p, ok := errors.AsType[*client.Problem](err); ok {
		fmt.Println(p.Status, p.Retryable, p.RequestID)
	}
	// Output:
	// top up, then try with a new key
	// 422 false req_1
}

// A Retrier works with any API. Here the server wants a wait of an hour: the caller learns of it at once.
func ExampleRetrier() {
	server := scripted(answer{503, "", ""}, answer{429, "", "3600"})
	defer server.Close()
	retrying := &http.Client{Transport: &client.Retrier{Backoff: client.Backoff{Base: 10 * time.Millisecond}}}

	res, err := retrying.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	wait, _ := client.RetryAfter(res.Header, time.Now())
	fmt.Println(res.StatusCode, wait)
	// Output: 429 1h0m0s
}

func ExampleLefts() {
	h := http.Header{}
	h.Set("RateLimit", `"user";r=5;t=3, "ip";r=299;t=1`)
	lefts, ok := client.Lefts(h)
	fmt.Println(lefts, ok)
	h.Set("RateLimit", `"user";r=5;t=3, ip`) // one fault, and the field says nothing
	lefts, ok = client.Lefts(h)
	fmt.Println(lefts, ok)
	// Output:
	// [{user 5 3s} {ip 299 1s}] true
	// [] false
}
