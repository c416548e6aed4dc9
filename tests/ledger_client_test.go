package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/bankapi/internal/openapitest"
)

// client does one thing after the other.
type client struct {
	*storm
	group *group
	id    int
	rng   *rand.Rand
}

func (c *client) act() {
	for !c.over.Load() && !c.t.Failed() {
		switch n := c.rng.IntN(100); {
		case n < 40:
			c.pay(c.fresh(), c.payload())
		case n < 60:
			c.pay(c.recent(), c.payload())
		case n < 70:
			c.ask(c.recent())
		case n < 85:
			c.look(c.rng.IntN(purses))
		default:
			c.list()
		}
		c.deeds.Add(1)
		time.Sleep(time.Duration(c.rng.IntN(3000)) * time.Microsecond)
	}
}

// payload is rarely the other one.
func (c *client) payload() byte {
	if c.rng.IntN(10) == 0 {
		return other
	}
	return 0
}

// fresh makes a key and what its two payloads are.
func (c *client) fresh() int {
	from := c.rng.IntN(purses)
	d := deed{kind: "pay", from: from, to: (from + 1 + c.rng.IntN(purses-1)) % purses, amount: 1 + c.rng.Int64N(90)}
	g := c.group
	g.mu.Lock()
	defer g.mu.Unlock()
	d.key = len(g.keys)
	second := d
	second.payload, second.amount = other, d.amount+1
	g.keys = append(g.keys, [2]deed{d, second})
	return d.key
}

// recent is one of the last keys: somebody may be sending it at this moment.
func (c *client) recent() int {
	c.group.mu.Lock()
	n := len(c.group.keys)
	c.group.mu.Unlock()
	if n == 0 {
		return c.fresh()
	}
	return max(0, n-1-c.rng.IntN(4))
}

func (c *client) now() int64 { return int64(time.Since(c.begun)) }

func (c *client) note(call, end int64, d deed, a said) {
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	c.group.history = append(c.group.history, porcupine.Operation{ClientId: c.id, Input: d, Call: call, Output: a, Return: end})
}

// pay sends an order until it is answered, as a client should. All that was lost is noted as one order that ended
// together with the one that was answered: from then on it changes nothing.
func (c *client) pay(key int, payload byte) {
	c.group.mu.Lock()
	d := c.group.keys[key][payload]
	c.group.mu.Unlock()
	first := int64(-1)
	for {
		call := c.now()
		got, ok := c.send("POST", "/transfers", order(c.group.accounts[d.from], c.group.accounts[d.to], d.amount), "Idempotency-Key", fmt.Sprint("key-", key))
		if a := c.verdict(key, got); ok && a.verdict != lost {
			end := c.now()
			if first >= 0 {
				c.note(first, end, d, said{verdict: lost})
			}
			c.note(call, end, d, a)
			return
		}
		if c.t.Failed() {
			return
		}
		if first < 0 {
			first = call
		}
		c.lost.Add(1)
		time.Sleep(time.Duration(c.rng.IntN(50)) * time.Millisecond)
	}
}

// verdict reads the answer to an order. What was paid or refused with a key has the same bytes for everybody.
func (c *client) verdict(key int, got answer) (a said) {
	a.replayed = got.Header.Get("Idempotent-Replayed") == "true"
	problem := got.text("type")
	if got.Status == http.StatusServiceUnavailable && got.Header.Get("Retry-After") == "" {
		c.t.Errorf("key %d: %s without Retry-After", key, got)
	}
	switch {
	case got.Status == http.StatusCreated:
		a.verdict = paid
	case strings.HasSuffix(problem, "/insufficient-funds"):
		a.verdict = refused
	case strings.HasSuffix(problem, "/idempotency-key-reused"):
		return said{verdict: taken}
	case got.Status != 0 && got.Status != http.StatusServiceUnavailable && !strings.HasSuffix(problem, "/idempotency-key-in-use"):
		c.t.Errorf("key %d: %s", key, got)
		return said{verdict: lost}
	default:
		return said{verdict: lost}
	}
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	if before, ok := c.group.bodies[key]; ok && before != string(got.Body) {
		c.t.Errorf("key %d was answered %s, and now %s", key, before, got)
	}
	c.group.bodies[key] = string(got.Body)
	return a
}

func (c *client) ask(key int) {
	call := c.now()
	got, ok := c.read("/idempotency-keys/" + fmt.Sprint("key-", key))
	if !ok {
		return
	}
	a := said{verdict: lost} // in progress: nothing follows from that
	switch {
	case got.text("state") == "unknown":
		a.verdict = unused
	case got.field("status") == "201":
		a.verdict = paid
	case got.field("status") == "422":
		a.verdict = refused
	}
	c.note(call, c.now(), deed{kind: "ask", key: key}, a)
}

// look asks for a balance, or for the newest line of the statement, which must say the same.
func (c *client) look(i int) {
	call, path := c.now(), "/accounts/"+c.group.accounts[i]
	statement := c.rng.IntN(2) == 0
	if statement {
		path += "/entries?limit=1"
	}
	got, ok := c.read(path)
	if !ok {
		return
	}
	var a said
	if statement {
		var page struct {
			Data []struct {
				Balance int64 `json:"balance_after"`
			}
		}
		if err := json.Unmarshal(got.Body, &page); err != nil || len(page.Data) != 1 {
			c.t.Errorf("%s: %s", path, got)
			return
		}
		a.balances[i] = page.Data[0].Balance
	} else if _, err := fmt.Sscan(got.field("balance"), &a.balances[i]); err != nil {
		c.t.Errorf("%s: %s", path, got)
		return
	}
	c.note(call, c.now(), deed{kind: "look", from: i}, a)
}

// list asks for all balances of one moment.
func (c *client) list() {
	call := c.now()
	got, ok := c.read("/accounts")
	if !ok {
		return
	}
	var page struct{ Data []account }
	if err := json.Unmarshal(got.Body, &page); err != nil {
		c.t.Errorf("accounts: %s", got)
		return
	}
	var a said
	for i, id := range c.group.accounts {
		a.balances[i] = balanceOf(page.Data, id)
	}
	c.note(call, c.now(), deed{kind: "list"}, a)
}

func (c *client) read(path string) (answer, bool) {
	got, ok := c.send("GET", path, "")
	if ok && got.Status != http.StatusOK && got.Status != http.StatusServiceUnavailable {
		c.t.Errorf("%s: %s", path, got)
	}
	return got, ok && got.Status == http.StatusOK
}

// send asks one of the banks and reports whether it was answered. Now and then the client hangs up on its own.
func (c *client) send(method, path, body string, headers ...string) (answer, bool) {
	user := c.group.user
	patience := 20 * time.Second
	if method == "POST" && c.rng.IntN(12) == 0 {
		patience = time.Duration(c.rng.IntN(8000)) * time.Microsecond
	}
	user.URL = c.banks[c.rng.IntN(len(c.banks))].Load().URL
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := user.request(c.t, method, path, body, headers...)
	if err != nil {
		c.t.Error(err)
		return answer{}, false
	}
	request = request.WithContext(ctx)
	request.GetBody = nil // else Go would send a request with a key again by itself
	response, err := httpClient.Do(request)
	if err != nil {
		return answer{}, false
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, false
	}
	response.Body = io.NopCloser(strings.NewReader(string(content)))
	openapitest.Check(c.t, request, response)
	return answer{Status: response.StatusCode, Header: response.Header, Body: content}, true
}
