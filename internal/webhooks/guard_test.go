package webhooks

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.8.9.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.168.1.1",
		"198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1",
		"64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
	} {
		if public(netip.MustParseAddr(s)) {
			t.Errorf("%s counts as public", s)
		}
	}
	for _, s := range []string{"1.1.1.1", "93.184.215.14", "172.32.0.1", "192.169.0.1", "::ffff:1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001::1"} {
		if !public(netip.MustParseAddr(s)) {
			t.Errorf("%s does not count as public", s)
		}
	}
}

// TestNamesThatMeanThisMachineAreRefusedWhenConnecting: the address is judged, not the name.
func TestNamesThatMeanThisMachineAreRefusedWhenConnecting(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	for _, url := range []string{server.URL, "http://localhost:" + port} {
		if _, err := newClient(time.Second, false).Get(url); !errors.Is(err, errNotPublic) {
			t.Errorf("%s: %v, want %v", url, err, errNotPublic)
		}
		response, err := newClient(time.Second, true).Get(url)
		if err != nil {
			t.Errorf("%s, when allowed: %v", url, err)
			continue
		}
		_ = response.Body.Close()
	}
	for _, url := range []string{"http://10.255.255.1/", "http://169.254.169.254/", "http://[::ffff:10.0.0.1]/"} {
		if _, err := newClient(time.Second, true).Get(url); !errors.Is(err, errNotPublic) {
			t.Errorf("%s: %v, want %v", url, err, errNotPublic)
		}
	}
}

func TestNoProxyIsUsed(t *testing.T) {
	if newClient(time.Second, false).Transport.(*http.Transport).Proxy != nil {
		t.Error("a proxy would connect to what we must not")
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://example.com":                              "example.com:443",
		"https://Example.COM./hooks?a=b":                   "example.com:443",
		"https://example.com:8443/x":                       "example.com:8443",
		"https://1.1.1.1/":                                 "1.1.1.1:443",
		"https://[2606:4700:4700::1111]:8443/":             "[2606:4700:4700::1111]:8443",
		"HTTPS://example.com/":                             "example.com:443",
		"https://xn--bcher-kva.example/%C3%A9?ä":           "",
		"https://bücher.example":                           "",
		"http://example.com":                               "",
		"http://localhost":                                 "",
		"https://localhost":                                "",
		"https://foo.localhost":                            "",
		"https://127.0.0.1":                                "",
		"https://[::1]":                                    "",
		"https://[::ffff:127.0.0.1]":                       "",
		"https://10.0.0.1":                                 "",
		"https://169.254.169.254/latest":                   "",
		"https://user:pw@example.com":                      "",
		"https://example.com/#x":                           "",
		"https://example.com/#":                            "",
		"https://example.com:0":                            "",
		"https://example.com:70000":                        "",
		"https://:443":                                     "",
		"https:///x":                                       "",
		"ftp://example.com":                                "",
		"example.com":                                      "",
		"":                                                 "",
		"https://example.com/a b":                          "",
		"https://example.com/\n":                           "",
		"https://example.com/" + strings.Repeat("x", 2048): "",
	} {
		partner, err := checkURL(raw, false)
		if partner != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, ErrInvalidURL) {
			t.Errorf("%q: %q, %v; want %q", raw, partner, err, want)
		}
	}
	for raw, want := range map[string]string{
		"http://localhost:9000/x": "localhost:9000", "http://127.0.0.1": "127.0.0.1:80", "https://[::1]:1": "[::1]:1",
		"http://example.com": "", "http://10.0.0.1": "", "https://10.0.0.1": "",
	} {
		if partner, err := checkURL(raw, true); partner != want || (err == nil) != (want != "") {
			t.Errorf("in the demo %q: %q, %v; want %q", raw, partner, err, want)
		}
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	var all time.Duration
	for failures, want := range map[int]time.Duration{
		1: 5 * time.Second, 2: 20 * time.Second, 3: 80 * time.Second, 6: 5120 * time.Second, 7: 20480 * time.Second, 8: 6 * time.Hour, 1000: 6 * time.Hour,
	} {
		if got := backoff(failures, 5*time.Second); got != want {
			t.Errorf("after %d failures %v, want %v", failures, got, want)
		}
	}
	for failures := 1; failures < 10; failures++ {
		all += backoff(failures, 5*time.Second)
	}
	if all < 18*time.Hour || all > 36*time.Hour {
		t.Errorf("ten tries take %v, want about a day", all)
	}
	for range 1000 {
		if got := jitter(time.Second); got < time.Second || got > 1200*time.Millisecond {
			t.Fatalf("jitter made %v of a second", got)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 24, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "3": 3 * time.Second, "-1": 0, "1.5": 0, "soon": 0, "99999999999999999999": 0, "2000000000": 24 * time.Hour,
		"Thu, 24 Sep 2026 12:00:30 GMT": 20 * time.Second, // ten seconds ahead of us
		"Thu, 24 Sep 2026 11:00:00 GMT": 0,
	} {
		h := http.Header{"Retry-After": {text}, "Date": {"Thu, 24 Sep 2026 12:00:10 GMT"}}
		if got := retryAfter(h, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := retryAfter(http.Header{"Retry-After": {"Thu, 24 Sep 2026 12:00:30 GMT"}}, now); got != 30*time.Second {
		t.Errorf("without Date: %v, want 30s", got)
	}
}
