package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
)

// call sends JSON and decodes what comes back.
func call(t *testing.T, want int, method, url, token, body string, answer any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", "k")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != want {
		t.Fatalf("%s %s: %d %s, want %d", method, url, response.StatusCode, text, want)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func TestTheDemoTellsPartnersAndLogsItsMail(t *testing.T) {
	t.Parallel()
	events := make(chan string, 10)
	partner := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		events <- string(body)
	}))
	defer partner.Close()
	api, stop := serve(t, "DATABASE_URL="+dbtest.EmptyURL(t))

	var session struct{ Token string }
	call(t, http.StatusCreated, "POST", api+"/sessions", "", fmt.Sprintf(`{"email":"ada@example.com","password":%q}`, demoPassword), &session)
	call(t, http.StatusCreated, "POST", api+"/webhooks", session.Token, fmt.Sprintf(`{"url":%q}`, partner.URL), nil)
	var accounts struct {
		Data []struct{ ID, Currency string }
	}
	call(t, http.StatusOK, "GET", api+"/accounts", session.Token, "", &accounts)
	var ngn []string
	for _, a := range accounts.Data {
		if a.Currency == "NGN" {
			ngn = append(ngn, a.ID)
		}
	}
	order := fmt.Sprintf(`{"from_account":%q,"to_account":%q,"amount":125,"currency":"NGN"}`, ngn[0], ngn[1])
	var transfer struct{ ID string }
	call(t, http.StatusCreated, "POST", api+"/transfers", session.Token, order, &transfer)
	select {
	case event := <-events:
		if !strings.Contains(event, transfer.ID) {
			t.Errorf("told %s, want %s", event, transfer.ID)
		}
	case <-time.After(30 * time.Second):
		t.Error("not told after 30 s")
	}

	call(t, http.StatusAccepted, "POST", api+"/password-resets", "", `{"email":"ada@example.com"}`, nil)
	code, errs := stop() // what waits for its mail is sent first
	if code != exitOK || !strings.Contains(errs, "DEMO MAIL, not sent") || !strings.Contains(errs, "bank_reset_") {
		t.Errorf("exit code %d, and no mail in the log: %s", code, errs)
	}
}

func TestWithAServerNoTokenIsLogged(t *testing.T) {
	t.Parallel()
	api, stop := serve(t, "DATABASE_URL="+dbtest.EmptyURL(t), "SMTP_URL=smtp://127.0.0.1:1", "MAIL_FROM=Bank <bank@example.com>")
	call(t, http.StatusAccepted, "POST", api+"/password-resets", "", `{"email":"ada@example.com"}`, nil)
	code, errs := stop()
	if code != exitOK || !strings.Contains(errs, "password reset not sent") || strings.Contains(errs, "bank_reset_") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestFaultsOfMailAndWebhookSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ setting, name string }{
		{"SMTP_URL=smtp://bank:hunter2@mail.example.com", "SMTP_URL"}, // and no MAIL_FROM
		{"SMTP_URL=http://bank:hunter2@mail.example.com", "SMTP_URL"},
		{"BANKAPI_WEBHOOK_RATE=0", "BANKAPI_WEBHOOK_RATE"},
		{"BANKAPI_WEBHOOK_RATE=1001", "BANKAPI_WEBHOOK_RATE"},
		{"BANKAPI_WEBHOOK_LOOPBACK=perhaps", "BANKAPI_WEBHOOK_LOOPBACK"},
	} {
		code, _, errs := bankapi(t, []string{c.setting}, "serve")
		if code != exitUsage || !strings.Contains(errs, "("+c.name+")") || strings.Contains(errs, "hunter2") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, %s", c.setting, code, errs)
		}
	}
	for loopback, want := range map[string]bool{"": false, "on": true, "off": false} {
		set, faults := Config{
			DataDir: "d", Listen: "127.0.0.1:0", AdminListen: "off", BehindTLS: "off", RequestTimeout: "1s", MaxConnections: "1", ShutdownGrace: "1s", Demo: "off",
			OpeningCredit: "0", WebhookRate: "7", WebhookLoopback: loopback, LogFormat: "text", LogLevel: "info",
		}.check()
		if len(faults) > 0 || set.webhookLoopback != want || set.webhookRate != 7 {
			t.Errorf("without the demo and with %q: %v, %d, %v", loopback, set.webhookLoopback, set.webhookRate, faults)
		}
	}
}
