// Package clientip answers one question: whose address is this request from?
//
// Only the far end of the TCP connection is certain. Behind proxies it is the last of them, and each proxy appends the
// peer it saw to X-Forwarded-For; what stands further left was sent by whoever spoke to it. So the list is read from
// the right, and only as long as the speaker is one of ours:
//
//	X-Forwarded-For: 6.6.6.6, 203.0.113.9, 10.0.0.7      peer 10.0.0.2      trusted 10.0.0.0/8
//	                 invented  ^ client     our proxy         our proxy
//
// The first address from the right that is not trusted is the client. A client can write what it likes to the left of
// itself and changes nothing. Forwarded, X-Real-IP and True-Client-IP are not read: a proxy that does not set them
// passes on a client's own.
package clientip

import (
	"iter"
	"net/netip"
	"strings"
)

// Resolver finds the client of a request. The zero value trusts nobody: the peer is the client.
type Resolver struct {
	Trusted []netip.Prefix // the proxies whose word is taken; see [ParsePrefixes]
}

// From returns the client's address, without zone and with IPv4 in its own form, from the peer's address (with or
// without a port) and all X-Forwarded-For lines in the order received.
//
// Empty entries are skipped. An entry that is no address ends the walk at the last hop known, and so does the end of
// the list; only then can the answer lie inside Trusted. A peer without an address (a Unix socket) gives the zero
// Addr, which is not valid.
func (r Resolver) From(remoteAddr string, forwardedFor []string) netip.Addr {
	client, _ := parseHop(remoteAddr)
	for entry := range fromTheRight(forwardedFor) {
		if !r.trusts(client) {
			break
		}
		hop, ok := parseHop(entry)
		if !ok {
			break
		}
		client = hop
	}
	return client
}

func (r Resolver) trusts(addr netip.Addr) bool {
	for _, prefix := range r.Trusted {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// fromTheRight yields the entries of a list header that came as several lines, last one first, skipping empty ones.
func fromTheRight(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := len(lines) - 1; i >= 0; i-- {
			for line, more := lines[i], true; more; {
				comma := strings.LastIndexByte(line, ',')
				entry := strings.Trim(line[comma+1:], " \t")
				if entry != "" && !yield(entry) {
					return
				}
				if more = comma >= 0; more {
					line = line[:comma]
				}
			}
		}
	}
}

// parseHop reads 1.2.3.4, 1.2.3.4:80, ::1, [::1], [::1]:80, each IPv6 form also with a zone.
func parseHop(s string) (netip.Addr, bool) {
	bare, bracketed := strings.CutPrefix(s, "[")
	bare, closed := strings.CutSuffix(bare, "]")
	if bracketed != closed || !bracketed && strings.Count(s, ":") == 1 {
		hop, err := netip.ParseAddrPort(s)
		return plain(hop.Addr()), err == nil
	}
	addr, err := netip.ParseAddr(bare)
	return plain(addr), err == nil && (addr.Is6() || !bracketed)
}

// plain is the one form in which addresses are compared: no zone, and IPv4 not wrapped in IPv6.
func plain(addr netip.Addr) netip.Addr {
	return addr.Unmap().WithZone("")
}

var nat64 = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052: the last 32 bits are an IPv4 address

// Bucket returns the network that shares one address limit: an IPv4 address itself (/32), for IPv6 the /64 that one
// subscriber is given, and for a NAT64 address the IPv4 address inside. The zero Addr gives the zero Prefix.
func Bucket(addr netip.Addr) netip.Prefix {
	addr = plain(addr)
	if nat64.Contains(addr) {
		wide := addr.As16()
		addr = netip.AddrFrom4([4]byte(wide[12:]))
	}
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	prefix, _ := addr.Prefix(bits) // fails only for the zero Addr, and then with the zero Prefix
	return prefix
}
