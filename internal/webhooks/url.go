package webhooks

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// URLError is an [ErrInvalidURL] that says what is wrong. Reason is for the customer.
type URLError struct {
	Reason string // "must begin with https://"
}

func (e *URLError) Error() string { return "webhook URL " + e.Reason }

// Unwrap makes errors.Is(err, ErrInvalidURL) true.
func (e *URLError) Unwrap() error { return ErrInvalidURL }

const maxURL = 2048

// checkURL returns the partner of a URL: host and port. Names are not looked up here: what they mean is judged each time
// a connection is made.
func checkURL(raw string, allowLoopback bool) (partner string, err error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || len(raw) > maxURL || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", &URLError{"must be a URL of at most 2048 visible ASCII characters"}
	case u.Scheme != "https" && u.Scheme != "http":
		return "", &URLError{"must begin with https://"}
	case u.User != nil || u.Fragment != "" || strings.Contains(raw, "#"):
		return "", &URLError{"must have neither a user nor a fragment"}
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	address, literal := parseAddress(host)
	loopback := host == "localhost" || strings.HasSuffix(host, ".localhost") || literal && address.IsLoopback()
	switch {
	case host == "":
		return "", &URLError{"must have a host"}
	case u.Scheme == "http" && !(loopback && allowLoopback):
		return "", &URLError{"must begin with https://"}
	case loopback && !allowLoopback, literal && !loopback && !public(address):
		return "", &URLError{"must have a host on the public Internet"}
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", &URLError{"must have a port between 1 and 65535"}
	}
	return net.JoinHostPort(host, port), nil
}

func parseAddress(host string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(host)
	return address.Unmap().WithZone(""), err == nil
}
