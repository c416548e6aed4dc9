package tests

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/openapitest"
)

// slot is the distance between two requests at 100 a minute.
const slot = 600 * time.Millisecond

func TestEdgeRateIsADistanceNotACount(t *testing.T) {
	t.Parallel()
	bank, _ := backend(t)
	at := edge(t, []string{bank.URL}, edgeRate, "rate=100r/m;", edgeBurst, "zone=edge;")

	// A machine that sleeps longer than a slot shows nothing: try again as somebody else.
	for i := range 20 {
		client := from(t, fmt.Sprintf("127.0.1.%d", i+1))
		begin := time.Now()
		first, _ := get(t, client, at+"/rates")
		time.Sleep(100 * time.Millisecond)
		second, _ := get(t, client, at+"/rates")
		if time.Since(begin) >= slot {
			continue
		}
		if first != http.StatusOK || second != http.StatusTooManyRequests {
			t.Errorf("two requests 100 ms apart at 100 a minute: %d and %d, want 200 and 429", first, second)
		}
		time.Sleep(slot + 10*time.Millisecond)
		if third, _ := get(t, client, at+"/rates"); third != http.StatusOK {
			t.Errorf("a slot later: %d, want 200", third)
		}
		return
	}
	t.Fatal("20 times this machine took longer than a slot for two requests 100 ms apart")
}

func TestEdgeBurstPassesAtOnceOrQueues(t *testing.T) {
	t.Parallel()
	bank, _ := backend(t)

	t.Run("nodelay", func(t *testing.T) {
		t.Parallel()
		at := edge(t, []string{bank.URL}, edgeRate, "rate=100r/m;", edgeBurst, "zone=edge burst=20 nodelay;")
		passed, freed := volley(t, from(t, "127.0.2.1"), 50, at)
		if passed < 21 || passed > 21+freed {
			t.Errorf("50 at once with burst=20 nodelay: %d passed, want 21 (one, and 20 over the rate)", passed)
		}
	})

	t.Run("queue", func(t *testing.T) {
		t.Parallel()
		at := edge(t, []string{bank.URL}, edgeRate, "rate=100r/m;", edgeBurst, "zone=edge burst=20;")
		begin := time.Now()
		if passed, _ := volley(t, from(t, "127.0.2.2"), 3, at); passed != 3 {
			t.Errorf("3 at once with burst=20: %d passed, want 3", passed)
		}
		if took := time.Since(begin); took < 2*slot-10*time.Millisecond {
			t.Errorf("3 at once without nodelay took %v, want two slots of %v", took, slot)
		}
	})
}

func TestEdgeCountsPerNode(t *testing.T) {
	t.Parallel()
	bank, served := backend(t)
	nodes := make([]string, 3)
	for i := range nodes {
		nodes[i] = edge(t, []string{bank.URL}, edgeRate, "rate=100r/m;", edgeBurst, "zone=edge burst=20 nodelay;")
	}
	passed, freed := volley(t, from(t, "127.0.3.1"), 120, nodes...)
	if passed < 3*21 || passed > 3*(21+freed) {
		t.Errorf("120 at once over three nodes: %d passed, want 63, three times what one admits", passed)
	}
	if got := int(served.Load()); got != passed {
		t.Errorf("%d reached the bank, %d were answered", got, passed)
	}
}

func TestEdgeSharesAmongInstances(t *testing.T) {
	t.Parallel()
	var urls []string
	var counts []*atomic.Int64
	for range 3 {
		bank, served := backend(t)
		urls, counts = append(urls, bank.URL), append(counts, served)
	}
	at := edge(t, urls, "worker_processes auto;", "worker_processes 1;")
	if passed, _ := volley(t, from(t, "127.0.4.1"), 30, at); passed != 30 {
		t.Errorf("30 requests: %d passed", passed)
	}
	for i, served := range counts {
		if got := served.Load(); got != 10 {
			t.Errorf("instance %d got %d of 30 requests, want 10", i, got)
		}
	}
}

func TestEdgeCountsIPv6ByNetwork(t *testing.T) {
	t.Parallel()
	bank, _ := backend(t)
	at := edge(t, []string{bank.URL}, edgeRate, "rate=6r/m;", edgeBurst, "zone=edge;",
		"worker_processes auto;", "worker_processes 1;",
		"server_tokens off;", "server_tokens off; set_real_ip_from 127.0.0.0/8; real_ip_header X-Client;")
	client := from(t, "127.0.5.1")
	for _, try := range []struct {
		client string
		want   int
	}{
		{"2001:db8:0:1::1", http.StatusOK},
		{"2001:db8:0:1:ffff::2", http.StatusTooManyRequests}, // the same /64
		{"2001:db8:0:2::1", http.StatusOK},
		{"203.0.113.1", http.StatusOK},
		{"203.0.113.2", http.StatusOK},
		{"203.0.113.1", http.StatusTooManyRequests},
		{"2001:db8:a0a:a0a::1", http.StatusOK}, // bytes that are line feeds
		{"2001:db8:a0a:a0a::a0a", http.StatusTooManyRequests},
	} {
		if got, _ := get(t, client, at+"/rates", "X-Client", try.client); got != try.want {
			t.Errorf("%s: %d, want %d", try.client, got, try.want)
		}
	}
}

func TestEdgeRefusalKeepsTheContract(t *testing.T) {
	t.Parallel()
	bank, _ := backend(t)
	at := edge(t, []string{bank.URL}, edgeRate, "rate=1r/s;", edgeBurst, "zone=edge;")
	client := from(t, "127.0.6.1")
	seen := map[string]bool{}
	for range 50 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/me", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode == http.StatusTooManyRequests {
			openapitest.Check(t, request, response, openapitest.LimitsUnknown)
			if got := response.Header.Get("Retry-After"); got != "1" {
				t.Errorf("Retry-After: %q, want 1", got)
			}
			seen[response.Header.Get("X-Request-Id")] = true
		}
		response.Body.Close()
		if len(seen) == 3 {
			return
		}
	}
	t.Fatalf("50 requests at 1 a second, and refusals under %d ids, want 3", len(seen))
}

func TestEdgeKeepsClientAddresses(t *testing.T) {
	t.Parallel()
	s := start(t, "DATABASE_URL="+dbtest.EmptyURL(t), "TRUSTED_PROXIES=127.0.0.1/32")
	at := edge(t, []string{s.URL})

	// A stranger's 20 tokens are gone whatever address it makes up, and another's are untouched.
	stranger := from(t, "127.0.7.1")
	refused := false
	for i := 0; i < 400 && !refused; i++ {
		status, _ := get(t, stranger, at+"/me", "X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i%250+1))
		refused = status == http.StatusTooManyRequests
	}
	if !refused {
		t.Error("400 requests of one stranger under made-up addresses were never refused")
	}
	if status, _ := get(t, from(t, "127.0.7.2"), at+"/me"); status != http.StatusUnauthorized {
		t.Errorf("another stranger: %d, want 401", status)
	}

	// The bank's own answers pass through: its headers and its problem, not the edge's.
	c := caller{URL: at}.logIn(t, "ada@example.com")
	if got := c.do(t, "GET", "/me", ""); got.Status != http.StatusOK || !strings.HasPrefix(got.Header.Get("RateLimit"), `"user"`) {
		t.Errorf("GET /me through the edge: %s, RateLimit %s", got, got.Header.Get("RateLimit"))
	}
}

// Forwarded addresses end at the edge: what the client claims is replaced, not appended to.
func TestEdgeReplacesForwardedFor(t *testing.T) {
	t.Parallel()
	bank, _ := backend(t)
	at := edge(t, []string{bank.URL})
	_, body := get(t, from(t, "127.0.8.1"), at+"/rates", "X-Forwarded-For", "203.0.113.9, 10.0.0.1")
	if body != "127.0.8.1" {
		t.Errorf("the bank was told %q, want 127.0.8.1", body)
	}
}

// backend answers 200 with the X-Forwarded-For it got, and counts.
func backend(t *testing.T) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var served atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		fmt.Fprint(w, strings.Join(r.Header.Values("X-Forwarded-For"), " + "))
	}))
	t.Cleanup(s.Close)
	return s, &served
}

// from is a client with an address of its own: all of 127.0.0.0/8 is this machine.
func from(t *testing.T, address string) *http.Client {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

// get sends a request with headers (name, value pairs) and returns status and body.
func get(t *testing.T, client *http.Client, url string, headers ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body.String()
}

// volley sends n requests at once, to the addresses in turn, and counts those that passed. It also says how many
// places may have come free while it was under way.
func volley(t *testing.T, client *http.Client, n int, urls ...string) (passed, freed int) {
	t.Helper()
	var wg sync.WaitGroup
	var ok atomic.Int64
	begin := time.Now()
	for i := range n {
		wg.Go(func() {
			switch status, body := get(t, client, urls[i%len(urls)]+"/rates"); status {
			case http.StatusOK:
				ok.Add(1)
			case http.StatusTooManyRequests:
			default:
				t.Errorf("request %d: %d %s", i, status, body)
			}
		})
	}
	wg.Wait()
	return int(ok.Load()), int(time.Since(begin)/slot) + 1
}
