package forward

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestWhichAddressesMayBeDialled(t *testing.T) {
	no := []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.254", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1",
		"172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "192.175.48.1", "198.18.0.1", "198.19.255.255", "198.51.100.7",
		"203.0.113.9", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808",
		"100::1", "2001::1", "2001:0:808:808::", "2001:db8::1", "2001:20::1", "2002:7f00:1::", "2002:a00:1::1", "2002:c0a8:101::", "3fff::1", "5f00::1",
		"168.63.129.16", "::ffff:168.63.129.16", "64:ff9b::a83f:8110", "2002:a83f:8110::1", // Azure's platform
		"100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254", "169.254.170.2", "64:ff9b::6464:64c8", "2002:c000:c0::", // other clouds' metadata
		"2606:4700::5efe:a9fe:a9fe", "2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:7f00:1", "2606:4700::5efe:8.8.8.8", "fe80::5efe:127.0.0.1", // ISATAP
		"2002:808:808::5efe:10.0.0.1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "64:ff9b:1::a9fe:a9fe", "::ffff:0:127.0.0.1", "::ffff:0:808:808", // within 6to4, Teredo, local NAT64, SIIT
		"fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "4000::1",
	}
	yes := []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.255.255.255", "128.0.0.1", "172.15.255.255", "172.32.0.1",
		"192.0.1.1", "192.167.255.255", "168.63.129.15", "168.63.129.17", "2606:4700::5eff:a00:1", "198.17.255.255", "198.20.0.1", "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
		"2001:200::1", "2606:4700::1111", "2a00:1450::1",
	}
	for _, a := range no {
		if mayDial(netip.MustParseAddr(a), nil) {
			t.Errorf("%s may be dialled", a)
		}
	}
	for _, a := range yes {
		if !mayDial(netip.MustParseAddr(a), nil) {
			t.Errorf("%s may not be dialled", a)
		}
	}
}

// An exception opens its own block and nothing beside it, in whatever form the address comes.
func TestExceptions(t *testing.T) {
	for _, c := range []struct {
		allow, address string
		may            bool
	}{
		{"10.1.0.0/16", "10.1.2.3", true},
		{"10.1.0.0/16", "::ffff:10.1.2.3", true},
		{"10.1.0.0/16", "64:ff9b::a01:203", true},
		{"10.1.0.0/16", "2002:a01:203::", true},
		{"10.1.0.0/16", "10.2.0.1", false},
		{"10.1.0.0/16", "127.0.0.1", false},
		{"fd00::/8", "fd00::1", true},
		{"fe80::/10", "fe80::1%eth0", true},
		{"::1/128", "::1", true},
		{"::1/128", "127.0.0.1", false},
		{"10.1.0.0/16", "2606:4700::5efe:10.1.2.3", true},
		{"10.1.0.0/16", "2606:4700::5efe:10.2.0.1", false},
		{"168.63.129.16/32", "168.63.129.16", true},
	} {
		if mayDial(netip.MustParseAddr(c.address), []netip.Prefix{netip.MustParsePrefix(c.allow)}) != c.may {
			t.Errorf("%s with %s allowed: %v", c.address, c.allow, !c.may)
		}
	}
}

// Every way to write this machine is refused where it is dialled, with a dead letter's reason, and nothing arrives.
func TestRefusedHosts(t *testing.T) {
	arrived := &counting{then: func(http.ResponseWriter, *http.Request) {}}
	server := httptest.NewServer(arrived)
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port := u.Port()
	for _, host := range []string{
		"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0X7F.1", "0177.0.0.1", "017700000001", "127.0.0.1.", "127.0.0.01",
		"[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "[::]", "0.0.0.0", "0", "169.254.169.254", "①②⑦.⓪.⓪.①", "[fe80::1%25lo]", "localhost",
	} {
		to := aim(t, "http://"+host+":"+port+"/", func(d *Destination) { d.Allow = nil }, nil)
		if a := trying(t, to, "x"); a.verdict != final || a.reason != "address" || a.alive {
			t.Errorf("%s: %+v", host, a)
		}
	}
	if n := arrived.count(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

// 127.0.0.2 is allowed and stands for an address out in the world; 127.0.0.1 isn't, and is what an attacker wants reached.
var (
	outside     = netip.MustParseAddr("127.0.0.2")
	inside      = netip.MustParseAddr("127.0.0.1")
	outsideOnly = func(d *Destination) { d.Allow = []netip.Prefix{netip.PrefixFrom(outside, 32)} }
)

// hosts listens on one port of both addresses and counts what arrives where.
func hosts(t *testing.T) (port string, arrived map[netip.Addr]*counting) {
	t.Helper()
	arrived = map[netip.Addr]*counting{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(l.Addr().String())
	l2, err := net.Listen("tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Fatal(err)
	}
	for a, l := range map[netip.Addr]net.Listener{inside: l, outside: l2} {
		c := &counting{then: func(http.ResponseWriter, *http.Request) {}}
		arrived[a] = c
		s := &http.Server{Handler: c}
		go func() { _ = s.Serve(l) }()
		t.Cleanup(func() { _ = s.Close() })
	}
	return port, arrived
}

// The name leads outside when it is first asked for, and inside ever after.
func TestRebinding(t *testing.T) {
	port, arrived := hosts(t)
	n := &nameServer{answers: func(asked int) []netip.Addr {
		if asked == 0 {
			return []netip.Addr{outside}
		}
		return []netip.Addr{inside}
	}}
	to := aim(t, "http://rebind.example.com:"+port+"/", outsideOnly, n.resolver(t))
	if a := trying(t, to, "x"); a.verdict != delivered {
		t.Fatalf("%+v", a)
	}
	// A kept connection leads where it was judged, whatever the name says now.
	if a := trying(t, to, "x"); a.verdict != delivered || n.questions() != 1 {
		t.Errorf("%+v after %d questions", a, n.questions())
	}
	to.hangUp()
	if a := trying(t, to, "x"); a.verdict != final || a.reason != "address" {
		t.Errorf("a new connection: %+v", a)
	}
	if arrived[inside].count() != 0 || arrived[outside].count() != 2 {
		t.Errorf("inside %d, outside %d", arrived[inside].count(), arrived[outside].count())
	}
}

// Both in one answer: only the one that may be dialled is reached, and where that one doesn't listen, none is.
func TestBothInOneAnswer(t *testing.T) {
	port, arrived := hosts(t)
	for _, order := range [][]netip.Addr{{outside, inside}, {inside, outside}} {
		n := &nameServer{answers: func(int) []netip.Addr { return order }}
		to := aim(t, "http://both.example.com:"+port+"/", outsideOnly, n.resolver(t))
		if a := trying(t, to, "x"); a.verdict != delivered {
			t.Errorf("%v: %+v", order, a)
		}
	}
	elsewhere := netip.MustParseAddr("127.0.0.3")
	for _, order := range [][]netip.Addr{{elsewhere, inside}, {inside, elsewhere}} {
		n := &nameServer{answers: func(int) []netip.Addr { return order }}
		to := aim(t, "http://both.example.com:"+port+"/", func(d *Destination) { d.Allow = []netip.Prefix{netip.PrefixFrom(elsewhere, 32)} }, n.resolver(t))
		if a := trying(t, to, "x"); a.verdict != retry || !a.unreached {
			t.Errorf("%v: %+v", order, a)
		}
	}
	if arrived[inside].count() != 0 || arrived[outside].count() != 2 {
		t.Errorf("inside %d, outside %d", arrived[inside].count(), arrived[outside].count())
	}
	n := &nameServer{answers: func(int) []netip.Addr {
		return []netip.Addr{inside, netip.MustParseAddr("::1"), netip.MustParseAddr("169.254.169.254")}
	}}
	to := aim(t, "http://none.example.com:"+port+"/", outsideOnly, n.resolver(t))
	if a := trying(t, to, "x"); a.verdict != final || a.reason != "address" {
		t.Errorf("%+v", a)
	}
}

// Two destinations of one address share no connection: what one may dial must not serve the other.
func TestConnectionsAreNotShared(t *testing.T) {
	arrived := &counting{then: func(http.ResponseWriter, *http.Request) {}}
	server := httptest.NewServer(arrived)
	defer server.Close()
	if a := trying(t, aim(t, server.URL, nil, nil), "x"); a.verdict != delivered {
		t.Fatalf("%+v", a)
	}
	if a := trying(t, aim(t, server.URL, outsideOnly, nil), "x"); a.reason != "address" {
		t.Errorf("%+v", a)
	}
}

func TestProxiesAreIgnored(t *testing.T) {
	proxy := &counting{then: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }}
	p := httptest.NewServer(proxy)
	defer p.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, p.URL)
	}
	n := &nameServer{answers: func(int) []netip.Addr { return []netip.Addr{outside} }}
	port, _ := hosts(t)
	if a := trying(t, aim(t, "http://plain.example.com:"+port+"/", nil, n.resolver(t)), "x"); a.verdict != delivered || proxy.count() != 0 {
		t.Errorf("%+v, %d by the proxy", a, proxy.count())
	}
}

func TestDialsEndWithTheForwarder(t *testing.T) {
	life, end := context.WithCancel(context.Background())
	end()
	d := &dialer{allow: loopback, life: life}
	if _, err := d.dial(t.Context(), "tcp", "127.0.0.1:9"); err == nil || !strings.Contains(err.Error(), "cancel") {
		t.Errorf("%v", err)
	}
}
