package serve_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"hapax/internal/config"
	"hapax/internal/wire/admin"
	"hapax/protocol"
)

// behind is the header of a request for which the test's proxy, at loopback, speaks.
func behind(address string) http.Header { return http.Header{"X-Forwarded-For": {address}} }

func trusting(change func(c *config.Config)) setup {
	return setup{change: func(c *config.Config) {
		c.Proxies.Trusted = []string{"127.0.0.1", "::1"}
		change(c)
	}}
}

// An address has so many connections on which nobody has said hello, and one that says hello makes room for the next.
func TestConnectionsOfAnAddressBeforeHello(t *testing.T) {
	r := start(t, trusting(func(c *config.Config) { c.Limits.AddressConnections = 2 }))
	var in []*socket
	for range 2 {
		s, _, err := r.dial(behind("192.0.2.7"))
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, s)
	}
	if _, resp, err := r.dial(behind("192.0.2.7")); err == nil || resp == nil || resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
		t.Fatalf("a third connection of an address: %v %v", resp, err)
	}
	if _, _, err := r.dial(behind("192.0.2.8")); err != nil {
		t.Error("another address paid for it:", err)
	}
	in[0].send(object{"type": "hello", "token": r.token("ada")})
	in[0].want("welcome")
	r.until(`hapax_limited_total{reason="address_rate"} 1`) // the burst is as large as the number
}

// An actor has so many connections, over all addresses; who is over it is told to come back.
func TestConnectionsOfAnActorOverAllAddresses(t *testing.T) {
	r := start(t, trusting(func(c *config.Config) { c.Limits.ActorConnections = 2 }))
	hello := func(i int, actor string) *socket {
		s, _, err := r.dial(behind(fmt.Sprintf("192.0.2.%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		s.send(object{"type": "hello", "token": r.token(actor)})
		return s
	}
	first := hello(1, "ada")
	first.want("welcome")
	hello(2, "ada").want("welcome")
	third := hello(3, "ada")
	third.wantError(protocol.RateLimited)
	third.wantClose(1013)
	hello(4, "ben").want("welcome")
	_ = first.conn.CloseNow()
	r.until(`hapax_connections 2`)
	hello(5, "ada").want("welcome")
}

// Where a server has as many connections as it may, those that idle without a token make room: nobody with one is kept out.
func TestIdleStrangersKeepNobodyOut(t *testing.T) {
	r := start(t, setup{kind: "pebble", change: func(c *config.Config) { c.Limits.Connections, c.Limits.Requests = 2, 2 }})
	socket := filepath.Join(r.config.Data, admin.SocketName)
	for _, place := range []struct{ network, address string }{{"tcp", r.at.Clients}, {"tcp", r.at.Admin}, {"unix", socket}} {
		for range 40 {
			idle, err := net.Dial(place.network, place.address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = idle.Close() })
		}
	}
	if a := r.get("/v1/rooms", r.token("ada")); a.status != http.StatusOK {
		t.Error(a.status, a.raw)
	}
	if status, body := r.adminStatus("/readyz"); status != http.StatusOK {
		t.Error(status, body)
	}
	if err := admin.AskCheckpoint(t.Context(), r.config.Data, filepath.Join(t.TempDir(), "copy"), 0); err != nil {
		t.Error(err)
	}
	if _, metrics := r.adminStatus("/metrics"); !strings.Contains(metrics, `hapax_limited_total{reason="room"}`) {
		t.Error("nobody is told that connections were closed")
	}
}

// Who asks again and again for what needs no token, and doesn't read, holds no slot.
func TestReadersThatDontReadHoldNoSlot(t *testing.T) {
	r := start(t, setup{change: func(c *config.Config) { c.Limits.Requests = 2 }})
	for range 8 {
		c, err := net.Dial("tcp", r.at.Clients)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.WriteString(c, strings.Repeat("GET /v1/openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n", 60)); err != nil {
			t.Fatal(err)
		}
	}
	if a := r.get("/v1/rooms", r.token("ada")); a.status != http.StatusOK {
		t.Error(a.status, a.raw)
	}
}
