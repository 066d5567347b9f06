package forward

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"hapax/internal/gateway"
)

// loopback is allowed where a test's destinations listen.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// trying sends one event to a destination over the real network and returns what came of it.
func trying(t *testing.T, to *target, body string) answer {
	t.Helper()
	d := &gateway.Delivery{ID: "ev_1", Sends: 1, Ordinal: 1}
	b := &gateway.Body{ContentType: "text/plain", Bytes: []byte(body)}
	return to.send(t.Context(), d, b, standing(time.Now().UnixMilli()))
}

// aim makes a target that is gone with the test.
func aim(t *testing.T, url string, change func(*Destination), resolver *net.Resolver) *target {
	t.Helper()
	d := Destination{Tenant: "acme", Source: "shop", URL: url, Allow: loopback, Timeout: 10 * time.Second}
	if change != nil {
		change(&d)
	}
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	life, end := context.WithCancel(context.Background())
	to := newTarget(d, resolver, life)
	t.Cleanup(func() {
		end()
		to.hangUp()
	})
	return to
}

// rawServer answers each connection as a function says.
func rawServer(t *testing.T, serve func(net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer func() { _ = c.Close() }()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		conns.Wait()
	})
	return "http://" + l.Addr().String()
}

// nameServer answers for every name with the addresses that stand at the moment, and counts the questions.
type nameServer struct {
	mu      sync.Mutex
	answers func(asked int) []netip.Addr
	asked   int
}

// resolver returns one that asks this name server only.
func (n *nameServer) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.serve(pc)
	}()
	t.Cleanup(func() {
		_ = pc.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

func (n *nameServer) serve(pc net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		size, from, err := pc.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:size]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		reply := dnsmessage.Message{
			Header:    dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true},
			Questions: m.Questions,
		}
		h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		for _, a := range n.answer(q.Type) {
			switch {
			case a.Is4() && q.Type == dnsmessage.TypeA:
				reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
			case !a.Is4() && q.Type == dnsmessage.TypeAAAA:
				reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
			}
		}
		if raw, err := reply.Pack(); err == nil {
			_, _ = pc.WriteTo(raw, from)
		}
	}
}

func (n *nameServer) answer(asked dnsmessage.Type) []netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.answers(n.asked)
	if asked == dnsmessage.TypeA {
		n.asked++
	}
	return all
}

func (n *nameServer) questions() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// counting is a handler that counts requests.
type counting struct {
	mu   sync.Mutex
	n    int
	then http.HandlerFunc
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	c.then(w, r)
}

func (c *counting) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// standing is a clock that stands still, at a moment in Unix ms.
type standing int64

func (c standing) Now() (int64, time.Duration) { return int64(c), 0 }
