package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"example.com/bankapi/internal/openapitest"
)

// password is what the demo users log in with.
const password = "correct-horse-battery-staple"

// httpClient talks to the servers under test. It never follows redirects and keeps many connections open, so that
// concurrent tests measure the server and not the dialling.
var httpClient = &http.Client{
	Timeout:       30 * time.Second,
	Transport:     &http.Transport{MaxIdleConnsPerHost: 256},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// caller is somebody who calls one server: a base URL, a bearer token and, behind a trusted proxy, an address.
type caller struct {
	URL     string
	Token   string
	Address string // sent as X-Forwarded-For when set

	When []openapitest.Condition // what excuses an answer from the contract
}

// answer is a response, read to its end.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// field returns one top-level member of a JSON body, as it stands there (numbers unquoted, strings quoted).
func (a answer) field(name string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(a.Body, &members) != nil {
		return ""
	}
	return string(members[name])
}

// text returns one top-level string member of a JSON body, or "".
func (a answer) text(name string) string {
	var s string
	if json.Unmarshal([]byte(a.field(name)), &s) != nil {
		return ""
	}
	return s
}

func (a answer) String() string {
	return fmt.Sprintf("%d %s", a.Status, a.Body)
}

// do sends one request and checks the answer against api/openapi.yaml. headers are name, value pairs.
func (c caller) do(t testing.TB, method, path, body string, headers ...string) answer {
	t.Helper()
	got, err := c.try(t, method, path, body, headers...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

// try is do for servers that may die under the request.
func (c caller) try(t testing.TB, method, path, body string, headers ...string) (answer, error) {
	t.Helper()
	request, err := c.request(t, method, path, body, headers...)
	if err != nil {
		return answer{}, err
	}
	response, err := httpClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	response.Body = io.NopCloser(bytes.NewReader(content))
	openapitest.Check(t, request, response, c.When...)
	return answer{Status: response.StatusCode, Header: response.Header, Body: content}, nil
}

// patient is do for a client that waits as it is told.
func (c caller) patient(t testing.TB, method, path, body string, headers ...string) answer {
	t.Helper()
	for {
		got := c.do(t, method, path, body, headers...)
		wait, err := strconv.Atoi(got.Header.Get("Retry-After"))
		if got.Status != http.StatusTooManyRequests || err != nil || wait > 10 {
			return got
		}
		time.Sleep(time.Duration(wait) * time.Second)
	}
}

func (c caller) request(t testing.TB, method, path, body string, headers ...string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(t.Context(), method, c.URL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if c.Address != "" {
		request.Header.Set("X-Forwarded-For", c.Address)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return request, nil
}

// logIn returns c with a session of the user.
func (c caller) logIn(t testing.TB, email string) caller {
	t.Helper()
	got := c.do(t, "POST", "/sessions", fmt.Sprintf(`{"email":%q,"password":%q}`, email, password))
	if got.Status != http.StatusCreated {
		t.Fatalf("log in as %s: %s", email, got)
	}
	c.Token = got.text("token")
	return c
}

// account is what the tests need to know of one.
type account struct {
	ID       string `json:"id"`
	Currency string `json:"currency"`
	Balance  int64  `json:"balance"`
}

// accounts lists the caller's accounts in one currency.
func (c caller) accounts(t testing.TB, currency string) []account {
	t.Helper()
	got := c.patient(t, "GET", "/accounts?limit=100", "")
	var page struct{ Data []account }
	if err := json.Unmarshal(got.Body, &page); err != nil || got.Status != http.StatusOK {
		t.Fatalf("list accounts: %s", got)
	}
	var found []account
	for _, a := range page.Data {
		if a.Currency == currency {
			found = append(found, a)
		}
	}
	return found
}

// transfer sends one transfer in NGN.
func (c caller) transfer(t testing.TB, key, from, to string, amount int64) answer {
	t.Helper()
	return c.do(t, "POST", "/transfers", order(from, to, amount), "Idempotency-Key", key)
}

func order(from, to string, amount int64) string {
	return fmt.Sprintf(`{"from_account":%q,"to_account":%q,"amount":%d,"currency":"NGN"}`, from, to, amount)
}

var people atomic.Int64

// somebody signs up a new user from an address of their own (the server must trust 127.0.0.1 as a proxy), so that no
// test shares a bucket with another, and logs them in.
func somebody(t testing.TB, url string) caller {
	t.Helper()
	n := people.Add(1)
	c := caller{URL: url, Address: fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)}
	email := fmt.Sprintf("user%d-%d@example.com", n, time.Now().UnixNano())
	if got := c.do(t, "POST", "/users", fmt.Sprintf(`{"email":%q,"password":%q}`, email, password)); got.Status != http.StatusCreated {
		t.Fatalf("sign up: %s", got)
	}
	return c.logIn(t, email)
}

// openAccount opens an account with its opening credit.
func (c caller) openAccount(t testing.TB, currency string) account {
	t.Helper()
	got := c.do(t, "POST", "/accounts", fmt.Sprintf(`{"currency":%q}`, currency))
	var a account
	if err := json.Unmarshal(got.Body, &a); err != nil || got.Status != http.StatusCreated {
		t.Fatalf("open account: %s", got)
	}
	return a
}
