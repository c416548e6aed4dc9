package tests

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
)

// TestNothingAClientSendsGivesA500 sends what clients should not: every route with every body, header and parameter of
// the lists below, as itself, and some noise made from a seed that is logged.
func TestNothingAClientSendsGivesA500(t *testing.T) {
	t.Parallel()
	s := start(t, "DATABASE_URL="+dbtest.URL(t), "TRUSTED_PROXIES=127.0.0.1/32")
	c := somebody(t, s.URL)
	own := c.openAccount(t, "NGN").ID
	other := c.openAccount(t, "NGN").ID
	address := 0
	send := func(method, path, body string, headers ...string) {
		t.Helper()
		address++
		c.Address = fmt.Sprintf("10.200.%d.%d", address>>8&255, address&255)
		got, err := c.try(t, method, path, body, headers...)
		if err != nil {
			if !strings.Contains(err.Error(), "invalid") { // what net/http itself refuses to send
				t.Errorf("%s %s %.80q: %v", method, path, body, err)
			}
			return
		}
		if got.Status >= 500 {
			t.Errorf("%s %s %.200q %v: %s", method, path, body, headers, got)
		}
	}

	for _, body := range hostileBodies(own, other) {
		for _, path := range []string{"/transfers", "/users", "/sessions", "/accounts", "/api-keys"} {
			send("POST", path, body, "Idempotency-Key", fmt.Sprint("k", address))
		}
	}
	for _, path := range hostilePaths(own) {
		send("GET", path, "")
		send("DELETE", path, "")
		send("POST", path, "{}")
	}
	for _, key := range hostileKeys {
		send("POST", "/transfers", order(own, other, 1), "Idempotency-Key", key)
		send("GET", "/idempotency-keys/"+strings.NewReplacer(" ", "%20", "\n", "%0A", "\x00", "%00").Replace(key), "")
	}
	for _, token := range hostileTokens {
		send("GET", "/me", "", "Authorization", token)
	}
	for _, forwarded := range []string{"", ",", "not an address", "1.2.3.4, ,", strings.Repeat("1.1.1.1,", 900), "[::1", "::ffff:1.2.3.4", "fe80::1%25eth0"} {
		send("GET", "/rates", "", "X-Forwarded-For", forwarded)
	}
	for _, kind := range []string{"", "text/plain", "application/json; charset=utf-16", "application/xml", "multipart/form-data", ";;;"} {
		send("POST", "/transfers", order(own, other, 1), "Content-Type", kind, "Idempotency-Key", "kind")
	}

	seed := rand.Uint64()
	t.Logf("noise seed %d", seed)
	noise := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		send("POST", "/transfers", mutate(noise, order(own, other, 1)), "Idempotency-Key", fmt.Sprint("noise-", noise.Uint64()))
	}
	if got := c.accounts(t, "NGN"); len(got) < 2 {
		t.Errorf("after the noise the caller has accounts %v", got)
	}
}

func hostileBodies(own, other string) []string {
	bodies := []string{
		"", " ", "{", "[]", "null", "true", "0", `""`, "{}", "{}{}", `{"a":1}`, "\x00", "\xff\xfe", "\ufeff{}",
		strings.Repeat("[", 5000), strings.Repeat(`{"a":`, 5000), `{"email":` + strings.Repeat("1", 60000) + `}`,
		`{"email":"` + strings.Repeat("a", 100_000) + `"}`,
		`{"email":"a\u0000@example.com","password":"correct-horse-battery-staple"}`,
		`{"email":"\ud800@example.com","password":"correct-horse-battery-staple"}`,
		`{"email":"x@example.com","password":"` + strings.Repeat("é", 200) + `"}`,
		`{"email":"x@example.com","password":null}`, `{"email":["x"],"password":{}}`,
		`{"currency":"NGN","name":"\u0000"}`, `{"currency":"XXX"}`, `{"currency":"ngn"}`, `{"currency":""}`, `{"currency":1}`,
		`{"currency":"NGN","name":"` + strings.Repeat("n", 10_000) + `"}`,
		`{"name":"\u0000"}`, `{"name":""}`, `{"name":"` + strings.Repeat("k", 10_000) + `"}`,
	}
	for _, amount := range []string{
		"0", "-1", "-0", "1.5", "1.0", "1e2", `"100"`, `""`, "null", "true", "[]", "{}", "007", "9223372036854775807", "9223372036854775808",
		"1" + strings.Repeat("0", 30), "1" + strings.Repeat("0", 5000), "+1", "0x10", "1_000", "NaN", "Infinity",
	} {
		bodies = append(bodies, fmt.Sprintf(`{"from_account":%q,"to_account":%q,"amount":%s,"currency":"NGN"}`, own, other, amount))
	}
	for _, id := range []string{"", "acct_", "acct_x", own + "x", strings.ToUpper(own), "usr_" + strings.TrimPrefix(own, "acct_"), `\u0000`, "../../etc/passwd", "' OR 1=1 --"} {
		bodies = append(bodies,
			fmt.Sprintf(`{"from_account":"%s","to_account":%q,"amount":1,"currency":"NGN"}`, id, other),
			fmt.Sprintf(`{"from_account":%q,"to_account":"%s","amount":1,"currency":"NGN"}`, own, id))
	}
	return append(bodies,
		fmt.Sprintf(`{"from_account":%q,"to_account":%q,"amount":1,"currency":"NGN","memo":"\u0000"}`, own, other),
		fmt.Sprintf(`{"from_account":%q,"to_account":%q,"amount":1,"currency":"NGN","memo":"\udfff"}`, own, other),
		fmt.Sprintf(`{"from_account":%q,"to_account":%q,"amount":1,"amount":2,"currency":"NGN"}`, own, other),
		fmt.Sprintf(`{"from_account":%q,"to_account":%q,"amount":1,"currency":"NGN","memo":"%s"}`, own, other, strings.Repeat("m", 50_000)),
		fmt.Sprintf(`{"FROM_ACCOUNT":%q,"to_account":%q,"amount":1,"currency":"NGN"}`, own, other))
}

func hostilePaths(own string) []string {
	return []string{
		"/", "//", "/./accounts", "/accounts/", "/accounts/x", "/accounts/" + own + "/", "/accounts/" + own + "/entries?limit=0",
		"/accounts/" + own + "/entries?limit=101", "/accounts/" + own + "/entries?limit=-1", "/accounts/" + own + "/entries?limit=1e3",
		"/accounts/" + own + "/entries?limit=99999999999999999999", "/accounts/" + own + "/entries?cursor=x", "/accounts/" + own + "/entries?cursor=%00",
		"/accounts/" + own + "/entries?cursor=" + strings.Repeat("A", 5000), "/transfers?cursor=AAAA&cursor=BBBB", "/transfers?unknown=1", "/transfers?limit=%zz",
		"/transfers/%00", "/transfers/tr_" + strings.Repeat("a", 26), "/transfers/tr_" + strings.Repeat("7", 26), "/api-keys/key_" + strings.Repeat("a", 26),
		"/idempotency-keys/", "/idempotency-keys/%00", "/idempotency-keys/" + strings.Repeat("k", 300), "/idempotency-keys/%C3%A9",
		"/rates?base=", "/rates?base=XXX", "/rates?base=%00", "/rates?base=NGN&base=EUR", "/problems/", "/problems/..%2f..%2fgo.mod", "/problems/nothing",
		"/docs/../../go.mod", "/docs/x", "/metrics", "/debug/pprof/", "/integrity", "/%ff", "/" + strings.Repeat("a", 4000),
	}
}

var hostileKeys = []string{
	"", " ", `""`, `"`, `"a`, `a"`, `"a""b"`, "a b", "a,b", "a;b", `a\b`, "é", strings.Repeat("k", 255), strings.Repeat("k", 256),
	`"0";a=%0`, "\x7f", `"` + strings.Repeat("k", 255) + `"`, "%00", "'; DROP TABLE transfers; --",
}

var hostileTokens = []string{
	"", "Bearer", "Bearer ", "Bearer  x", "bearer x", "Basic YTpi", "Bearer bank_sess_", "Bearer bank_sess_" + strings.Repeat("0", 36),
	"Bearer bank_key_" + strings.Repeat("z", 36), "Bearer " + strings.Repeat("x", 7000), "Bearer a b", "Bearer é", "Bearer \x01", "Token x",
}

// mutate changes a few bytes of a well formed body.
func mutate(noise *rand.Rand, body string) string {
	bytes := []byte(body)
	for range 1 + noise.IntN(4) {
		at := noise.IntN(len(bytes))
		switch noise.IntN(3) {
		case 0:
			bytes[at] = byte(noise.IntN(256))
		case 1:
			bytes = append(bytes[:at], bytes[at+1:]...)
		default:
			bytes = append(bytes[:at], append([]byte{byte(noise.IntN(256))}, bytes[at:]...)...)
		}
	}
	return string(bytes)
}

// TestRawConnections sends what no HTTP library would: the server answers 4xx or closes, and lives on.
func TestRawConnections(t *testing.T) {
	t.Parallel()
	s := start(t, "DATABASE_URL="+dbtest.URL(t))
	host := strings.TrimPrefix(s.URL, "http://")
	for _, sent := range []string{
		"\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"FOO /transfers HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"POST /transfers HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
		"POST /transfers HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
		"POST /sessions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 100_000) + "\r\n\r\n",
		"GET /me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\nConnection: close\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"CONNECT a:1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"TRACE / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
	} {
		conn, err := net.DialTimeout("tcp", host, 5*time.Second)
		if err != nil {
			t.Fatalf("the server is gone after the last one: %v\n%s", err, s.log)
		}
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(conn, sent)
		if half, ok := conn.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
		if response, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
			if response.StatusCode >= 500 && response.StatusCode != http.StatusHTTPVersionNotSupported {
				t.Errorf("%.60q: %d", sent, response.StatusCode)
			}
			response.Body.Close()
		}
		conn.Close()
	}
}
