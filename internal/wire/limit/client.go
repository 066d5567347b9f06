package limit

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
)

// Client is by whom limits are counted before anybody has signed in: an IPv4 address, or the /64 of an IPv6 one.
type Client struct {
	group  netip.Addr
	shared bool
}

// ClientOf returns the client of an address. An invalid one, as of a Unix socket, is shared.
func ClientOf(a netip.Addr) Client {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		p, _ := a.Prefix(64) // 64 is within an IPv6 address
		return Client{group: p.Addr(), shared: a.IsLoopback()}
	}
	return Client{group: a, shared: !a.IsValid() || a.IsLoopback()}
}

// Shared says that many may stand behind the client, which is therefore bounded in sum only: loopback, or a named proxy itself.
func (c Client) Shared() bool { return c.shared }

// String is the client as logs show it.
func (c Client) String() string {
	switch {
	case !c.group.IsValid():
		return "local"
	case c.group.Is6():
		return c.group.String() + "/64"
	}
	return c.group.String()
}

// The headers by which a proxy may tell for whom it speaks.
const (
	XForwardedFor = "X-Forwarded-For"
	Forwarded     = "Forwarded"
)

// Proxies tells who asks, through the proxies that the configuration names.
type Proxies struct {
	named  []netip.Prefix
	header string
	tell   func(peer Client, header string)
	once   sync.Once
}

// NewProxies returns the reading of requests that come through the named networks, which tell their client in header (XForwardedFor or
// Forwarded). tell is called once, with the first peer that sends such a header and isn't named; nil: nobody is told.
func NewProxies(named []netip.Prefix, header string, tell func(peer Client, header string)) *Proxies {
	return &Proxies{named: named, header: header, tell: tell}
}

// Peer is the client at the other end of a connection.
func (p *Proxies) Peer(a net.Addr) Client {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return p.client(tcp.AddrPort().Addr())
	}
	return ClientOf(netip.Addr{})
}

func (p *Proxies) client(a netip.Addr) Client {
	c := ClientOf(a)
	c.shared = c.shared || p.isNamed(a)
	return c
}

func (p *Proxies) isNamed(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, n := range p.named {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// Proxied says whether a request's peer is a proxy that the configuration names.
func (p *Proxies) Proxied(r *http.Request) bool {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && p.isNamed(at.Addr())
}

// Of returns the client of a request: its peer, or, behind named proxies, the nearest address that isn't one of them. A proxy that doesn't
// tell is the client itself, shared.
func (p *Proxies) Of(r *http.Request) Client {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ClientOf(netip.Addr{})
	}
	peer := p.client(at.Addr())
	if !p.isNamed(at.Addr()) {
		if name := forwardedBy(r.Header); name != "" && p.tell != nil {
			p.once.Do(func() { p.tell(peer, name) })
		}
		return peer
	}
	hops := hopsOf(r.Header.Values(p.header), p.header == Forwarded)
	for i := len(hops) - 1; i >= 0; i-- {
		a, ok := hopAddr(hops[i])
		if !ok {
			return peer // "unknown", or a name that the proxy made up: it speaks for somebody whom nobody can tell
		}
		if !p.isNamed(a) {
			return ClientOf(a)
		}
	}
	return peer
}

// forwardedBy names the header by which a request says that it came through a proxy, "" where none does.
func forwardedBy(h http.Header) string {
	for name := range h {
		if name == Forwarded || strings.HasPrefix(name, "X-Forwarded-") {
			return name
		}
	}
	return ""
}

// WasForwarded says whether a request says of itself that it came through a proxy, named or not.
func WasForwarded(h http.Header) bool { return forwardedBy(h) != "" }

// hopsOf returns the addresses as they stand, the nearest last.
func hopsOf(lines []string, elements bool) (hops []string) {
	for _, line := range lines {
		for _, part := range split(line, ',') {
			if !elements {
				hops = append(hops, strings.TrimSpace(part))
				continue
			}
			hops = append(hops, forValue(part))
		}
	}
	return hops
}

// forValue is the node after "for=" of one element of a Forwarded header (RFC 7239), "" where there is none.
func forValue(element string) string {
	for _, pair := range split(element, ';') {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// split cuts at a separator outside of quotes.
func split(s string, at byte) (parts []string) {
	start, quoted := 0, false
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == at && !quoted:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// hopAddr reads an address with or without a port, an IPv6 one with or without brackets.
func hopAddr(s string) (netip.Addr, bool) {
	if at, err := netip.ParseAddrPort(s); err == nil {
		return at.Addr(), true
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	return a, err == nil
}
