package client_test

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/bankapi/client"
	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/openapitest"
)

// TestBank holds the client against the real server: a process of its own, on a real PostgreSQL.
func TestBank(t *testing.T) {
	t.Parallel()
	url := startBank(t)
	for name, test := range map[string]func(*testing.T, string){
		"EveryCall":                           everyCall,
		"HonestClientMeetsNoSecondRefusal":    honestClient,
		"PacedClientMeetsNoRefusal":           pacedClient,
		"LostAnswersMoveMoneyOnce":            lostAnswers,
		"AThousandRefusedDoNotComeBackAtOnce": aThousandRefused,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, url)
		})
	}
}

// startBank builds and starts bankapi, and ends it with the test.
func startBank(t *testing.T) string {
	t.Helper()
	database := dbtest.URL(t)
	binary := filepath.Join(t.TempDir(), "bankapi")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../cmd/bankapi").CombinedOutput(); err != nil {
		t.Fatalf("build bankapi: %v\n%s", err, out)
	}
	cmd := exec.Command(binary, "serve")
	cmd.Env = append(os.Environ(), "DATABASE_URL="+database, "REDIS_URL=",
		"BANKAPI_LISTEN=127.0.0.1:0", "BANKAPI_ADMIN_LISTEN=off", "TRUSTED_PROXIES=127.0.0.1/32", "BANKAPI_LOG_LEVEL=error")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("bankapi ended with %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := apiLine.FindStringSubmatch(lines.Text()); m != nil {
			go func() {
				for lines.Scan() {
				}
			}()
			return m[1]
		}
	}
	t.Fatal("bankapi printed no address")
	return ""
}

var apiLine = regexp.MustCompile(`(?i)api\s.*?(http://127\.0\.0\.1:\d+)`)

var people atomic.Int64

// network is the way to the server from an address of its own, as through a proxy that the server trusts. It counts
// refusals and holds each answer against the API's document.
type network struct {
	address string
	checked http.RoundTripper
	refused atomic.Int64
}

func newNetwork(t *testing.T) *network {
	return &network{address: fmt.Sprintf("10.0.0.%d", people.Add(1)), checked: &openapitest.Transport{T: t}}
}

func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("X-Forwarded-For", n.address)
	res, err := n.checked.RoundTrip(req)
	if err == nil && res.StatusCode == http.StatusTooManyRequests {
		n.refused.Add(1)
	}
	return res, err
}

// customer is somebody new with two accounts, through a transport.
type customer struct {
	*client.Client
	from, to client.Account
	email    string
}

func newCustomer(t *testing.T, url string, net *network, through http.RoundTripper) customer {
	t.Helper()
	email := fmt.Sprintf("client%d@example.com", people.Add(1))
	stranger := &client.Client{URL: url, HTTP: &http.Client{Transport: net}}
	if _, err := stranger.SignUp(t.Context(), email, "correct-horse-battery-staple"); err != nil {
		t.Fatal(err)
	}
	session, err := stranger.LogIn(t.Context(), email, "correct-horse-battery-staple")
	if err != nil {
		t.Fatal(err)
	}
	c := customer{Client: &client.Client{URL: url, Token: session.Token, HTTP: &http.Client{Transport: through}}, email: email}
	for _, a := range []*client.Account{&c.from, &c.to} {
		if *a, err = c.OpenAccount(t.Context(), "NGN", "Everyday"); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c customer) order(amount client.Amount) client.Order {
	return client.Order{From: c.from.ID, To: c.to.ID, Amount: amount, Currency: "NGN", Memo: "rent <&> ünicode"}
}

// sent is what the account has sent in all.
func (c customer) sent(t *testing.T) client.Amount {
	t.Helper()
	now, err := c.Account(t.Context(), c.from.ID)
	if err != nil {
		t.Fatal(err)
	}
	return c.from.Balance - now.Balance
}

func everyCall(t *testing.T, url string) {
	net := newNetwork(t)
	c := newCustomer(t, url, net, &client.Retrier{Base: &client.Pacer{Base: net, Cost: client.Costs}})
	c.PageSize = 1
	ctx := t.Context()

	me, err := c.Me(ctx)
	if err != nil || me.Email != c.email || me.CreatedAt.IsZero() {
		t.Errorf("Me: %+v, %v", me, err)
	}
	const key = "rent/2026-09?a=b#c%20"
	first, err := c.Transfer(ctx, key, c.order(12550))
	if err != nil || first.Amount != 12550 || first.Memo != "rent <&> ünicode" || first.Replayed {
		t.Errorf("Transfer: %+v, %v", first, err)
	}
	again, err := c.Transfer(ctx, key, c.order(12550))
	if !again.Replayed || again.ID != first.ID || err != nil {
		t.Errorf("Transfer again: %+v, %v", again, err)
	}
	_, err = c.Transfer(ctx, key, c.order(1))
	if p, _ := errors.AsType[*client.Problem](err); !errors.Is(err, client.ErrKeyReused) || len(p.Errors) != 1 || p.Errors[0].Pointer != "#/amount" {
		t.Errorf("Transfer of something else: %v", err)
	}
	_, err = c.Transfer(ctx, client.NewKey(), c.order(1<<39))
	if p, _ := errors.AsType[*client.Problem](err); !errors.Is(err, client.ErrInsufficientFunds) || p.RequestID == "" || p.Retryable {
		t.Errorf("Transfer without funds: %v", err)
	}
	if record, err := c.LookUpKey(ctx, key); err != nil || record.State != "done" || record.TransferID != first.ID || record.Key != key {
		t.Errorf("LookUpKey: %+v, %v", record, err)
	}
	if got, err := c.GetTransfer(ctx, first.ID); err != nil || got != first {
		t.Errorf("GetTransfer: %+v, %v, want %+v", got, err, first)
	}
	var sum client.Amount
	for entry, err := range c.Entries(ctx, c.from.ID) {
		if err != nil {
			t.Fatal(err)
		}
		sum += entry.Amount
	}
	if want := c.from.Balance - 12550; sum != want {
		t.Errorf("Entries: their sum is %d, want %d", sum, want)
	}
	seen := 0
	for account, err := range c.Accounts(ctx) {
		if err != nil || account.Currency != "NGN" {
			t.Errorf("Accounts: %+v, %v", account, err)
		}
		seen++
	}
	for transfer, err := range c.Transfers(ctx) {
		if err != nil || transfer.ID == "" {
			t.Errorf("Transfers: %+v, %v", transfer, err)
		}
		seen++
	}
	if seen != 2+3 { // two opening credits
		t.Errorf("Accounts and Transfers: %d, want 5", seen)
	}
	if limits, err := c.Limits(ctx); err != nil || len(limits) == 0 || limits[0].Policy == "" {
		t.Errorf("Limits: %+v, %v", limits, err)
	}
	if rates, err := c.Rates(ctx, "NGN"); err != nil || rates.Rates["USD"] == "" {
		t.Errorf("Rates: %+v, %v", rates, err)
	}
	apiKeys(t, c)
	webhooks(t, c)
	if err := c.RequestPasswordReset(ctx, "nobody@example.com"); err != nil {
		t.Errorf("RequestPasswordReset: %v", err)
	}
	if err := c.ResetPassword(ctx, "made-up", "a-quite-different-battery-staple"); !errors.Is(err, client.ErrResetTokenInvalid) {
		t.Errorf("ResetPassword: %v", err)
	}
	if err := c.LogOut(ctx); err != nil {
		t.Errorf("LogOut: %v", err)
	}
	if _, err := c.Me(ctx); !errors.Is(err, client.ErrInvalidToken) {
		t.Errorf("Me after LogOut: %v", err)
	}
	if net.refused.Load() > 0 {
		t.Errorf("%d requests were refused", net.refused.Load())
	}
}

func apiKeys(t *testing.T, c customer) {
	t.Helper()
	made, err := c.CreateAPIKey(t.Context(), "payroll run")
	if err != nil || made.Key == "" {
		t.Fatalf("CreateAPIKey: %+v, %v", made, err)
	}
	program := &client.Client{URL: c.URL, Token: made.Key, HTTP: c.HTTP}
	if _, err := program.CreateAPIKey(t.Context(), "another"); !errors.Is(err, client.ErrSessionRequired) {
		t.Errorf("CreateAPIKey by a program: %v", err)
	}
	for key, err := range program.APIKeys(t.Context()) {
		if err != nil || key.ID != made.ID || key.Key != "" {
			t.Errorf("APIKeys: %+v, %v", key, err)
		}
	}
	if err := c.RevokeAPIKey(t.Context(), made.ID); err != nil {
		t.Errorf("RevokeAPIKey: %v", err)
	}
	time.Sleep(time.Second) // every server knows within that time
}

func webhooks(t *testing.T, c customer) {
	t.Helper()
	made, err := c.CreateWebhook(t.Context(), "https://shop.example/bank")
	if err != nil || made.Secret == "" {
		t.Fatalf("CreateWebhook: %+v, %v", made, err)
	}
	for hook, err := range c.Webhooks(t.Context()) {
		if err != nil || hook.ID != made.ID || hook.Secret != "" {
			t.Errorf("Webhooks: %+v, %v", hook, err)
		}
	}
	if err := c.DeleteWebhook(t.Context(), made.ID); err != nil {
		t.Errorf("DeleteWebhook: %v", err)
	}
	if err := c.DeleteWebhook(t.Context(), made.ID); !errors.Is(err, client.ErrWebhookNotFound) {
		t.Errorf("DeleteWebhook again: %v", err)
	}
}
