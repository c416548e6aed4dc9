package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// numberedHost refuses requests under any name but localhost. A web page can make its own name point here and have its
// visitor's browser ask in its place (DNS rebinding); an address is nobody's name.
func (a *api) numberedHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !numbered(r.Host) {
			a.fail(w, r, errMisdirected)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// numbered reports whether a host, with or without a port, is localhost or an IP address.
func numbered(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	_, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil
}
