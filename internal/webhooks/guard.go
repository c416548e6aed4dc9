package webhooks

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

var errNotPublic = errors.New("the address is not on the public Internet")

// notPublic are the ranges of the IANA registries of special-purpose addresses that netip has no name for.
var notPublic = parsePrefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
)

func parsePrefixes(all ...string) (prefixes []netip.Prefix) {
	for _, s := range all {
		prefixes = append(prefixes, netip.MustParsePrefix(s))
	}
	return prefixes
}

// public reports whether an address belongs to the public Internet. An IPv6 address that carries an IPv4 one (mapped,
// NAT64, 6to4, Teredo) does not: no partner needs it, and it would be a way around.
func public(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() && a.Zone() == "" &&
		!slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(a) })
}

// newClient returns a client that reaches only public addresses, and this machine if allowed. The check is made on the
// address that is about to be connected to, so a name that changes its meaning between two look-ups gains nothing.
func newClient(timeout time.Duration, allowLoopback bool) *http.Client {
	dialer := &net.Dialer{
		Timeout: timeout,
		Control: func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if a := to.Addr().Unmap(); !public(a) && !(allowLoopback && a.IsLoopback()) {
				return errNotPublic
			}
			return nil
		},
	}
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{ // Proxy stays nil: a proxy would connect to what we must not
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    timeout,
			MaxIdleConnsPerHost:    perHook, // a new connection takes time, and brings requests closer together
			MaxIdleConns:           100,
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: 16 << 10,
			DisableCompression:     true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
