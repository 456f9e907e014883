package tools

import "net/netip"

// special are networks that are not the public internet though netip's own
// questions do not say so. Those that wrap an IPv4 address (NAT64, 6to4, Teredo,
// the compatible form) are refused whole: they could wrap a private one.
//
// Source: IANA IPv4 and IPv6 Special-Purpose Address Registries.
var special = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32", "2002::/16",
	"3fff::/20", "5f00::/16", "fec0::/10",
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// checkAddr returns a *privateError unless addr is public or in allowed. An
// IPv4 address in IPv6 form counts as the IPv4 address it is.
func checkAddr(addr netip.Addr, allowed []netip.Prefix) error {
	addr = addr.Unmap().WithZone("")
	for _, prefix := range allowed {
		if prefix.Contains(addr) {
			return nil
		}
	}
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return &privateError{addr}
	}
	for _, prefix := range special {
		if prefix.Contains(addr) {
			return &privateError{addr}
		}
	}
	return nil
}
