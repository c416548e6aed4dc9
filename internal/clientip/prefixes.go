package clientip

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// ParsePrefixes reads a comma-separated list of trusted proxies: networks (10.0.0.0/8, fd00::/8) and single addresses.
// The empty list trusts nobody. A prefix that covers every address is refused, for then any client could name itself.
// All faults are reported at once.
func ParsePrefixes(csv string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	var faults []error
	for entry := range strings.SplitSeq(csv, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		prefix, err := parsePrefix(entry)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		prefixes = append(prefixes, prefix)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return prefixes, nil
}

func parsePrefix(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	if addr, addrErr := netip.ParseAddr(s); addrErr == nil && addr.Zone() == "" {
		prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("trusted proxy %q: want a network such as 10.0.0.0/8 or an address", s)
	}
	if prefix.Addr().Is4In6() { // hops are compared in IPv4 form, so a trusted network must be too
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), max(prefix.Bits()-96, 0))
	}
	if prefix.Bits() == 0 {
		return netip.Prefix{}, fmt.Errorf("trusted proxy %q: covers every address, so any client could pose as any other", s)
	}
	return prefix.Masked(), nil
}
