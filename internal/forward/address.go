package forward

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
)

// errAddress refuses an address. It names none: a reason shows no tenant what lies in another's network.
var errAddress = errors.New("forward: the address may not be dialled")

// special are the blocks of the IANA special-purpose registries, as of 2025
// (https://www.iana.org/assignments/iana-ipv4-special-registry, https://www.iana.org/assignments/iana-ipv6-special-registry). All are
// refused, also those that the registries call globally reachable: nobody receives webhooks there. What lies beyond 2000::/3 is
// refused without an entry: IANA has assigned no other global unicast. 2002::/16 and 64:ff9b::/96 are unwrapped before.
var special = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private use
	"100.64.0.0/10",    // shared address space
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // Azure's platform, which answers each of its machines
	"169.254.0.0/16",   // link-local, where clouds keep their metadata
	"172.16.0.0/12",    // private use
	"192.0.0.0/24",     // IETF protocol assignments
	"192.0.2.0/24",     // documentation
	"192.31.196.0/24",  // AS112-v4
	"192.52.193.0/24",  // AMT
	"192.88.99.0/24",   // 6to4 relay anycast
	"192.168.0.0/16",   // private use
	"192.175.48.0/24",  // direct delegation AS112
	"198.18.0.0/15",    // benchmarking
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"240.0.0.0/4",      // reserved, limited broadcast

	"2001::/23",         // IETF protocol assignments, Teredo and ORCHID among them
	"2001:db8::/32",     // documentation
	"2620:4f:8000::/48", // direct delegation AS112
	"3fff::/20",         // documentation
)

var (
	globalUnicast6 = netip.MustParsePrefix("2000::/3")
	sixToFour      = netip.MustParsePrefix("2002::/16")
	nat64          = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, t := range texts {
		all = append(all, netip.MustParsePrefix(t))
	}
	return all
}

// unwrap returns the IPv4 address that an IPv6 one leads to, else the address itself.
func unwrap(a netip.Addr) netip.Addr {
	a = a.Unmap()
	b := a.As16()
	switch {
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16]))
	}
	return a
}

// isatap reports an address that, in whatever network, leads to the IPv4 address in its last four bytes (RFC 5214, 6.1). No service that takes
// webhooks has one, so all are refused.
func isatap(a netip.Addr) bool {
	if !a.Is6() || a.Is4In6() {
		return false
	}
	b := a.As16()
	return b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

func allowed(allow []netip.Prefix, addresses ...netip.Addr) bool {
	for _, p := range allow {
		if slices.ContainsFunc(addresses, p.Contains) {
			return true
		}
	}
	return false
}

// mayDial reports whether an address may be dialled: global unicast outside the special-purpose blocks, or an exception. An exception
// covers what an address leads to, and the address as it stands where that is written outright.
func mayDial(a netip.Addr, allow []netip.Prefix) bool {
	if a.Zone() != "" {
		a = a.WithZone("") // it would hide the address from Contains
	}
	if isatap(a) {
		to := a.As16()
		return allowed(allow, netip.AddrFrom4([4]byte(to[12:])), a)
	}
	to := unwrap(a)
	if allowed(allow, to, a) {
		return true
	}
	for _, p := range special {
		if p.Contains(to) {
			return false
		}
	}
	if to.Is4() {
		return !to.IsMulticast()
	}
	return globalUnicast6.Contains(to)
}

// oddAddress reports a host that is an address in a form that resolvers read each in their own way: 2130706433, 0x7f.1, 0177.0.0.1,
// 127.1, 127.0.0.1. with a dot. By the URL standard a host whose last label is a number is an IPv4 address or nothing.
func oddAddress(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := strings.ToLower(labels[len(labels)-1])
	digits := strings.TrimPrefix(last, "0x")
	if digits != last {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
