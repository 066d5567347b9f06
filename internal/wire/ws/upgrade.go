package ws

import (
	"bufio"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gobwas/ws"

	"hapax/internal/wire"
	"hapax/internal/wire/limit"
	"hapax/protocol"
)

// ServeHTTP upgrades a request to a connection, or says in a problem document why not.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if reason, code, text := s.refuse(r); code != "" {
		s.turned.Tell(reason, "a WebSocket was refused", s.Admission.Proxies.Of(r), "origin", r.Header.Values("Origin"), "host", r.Host, "allowed", s.Origins)
		wire.WriteProblem(w, wire.Error(code, text, s.spread()))
		return
	}
	client, place := s.Admission.Proxies.Of(r), limit.ConnOf(r)
	if wait, ok := s.Admission.Sockets.Allow(client, time.Now()); !ok {
		s.turnAway(w, "address_rate", client, wire.Error(protocol.RateLimited, "new connections come faster than one address may open them", wait.Milliseconds()))
		return
	}
	if !place.Upgrade(client) {
		s.turnAway(w, limit.ReasonAddress, client,
			wire.Error(protocol.RateLimited, "this address has as many connections as it may on which nobody has said hello", s.spread()))
		return
	}
	// Once over the rate of all, a page could not read an HTTP answer: it is let in, told when to come back, and closed.
	turnedAway := !s.accept.Allow()
	if turnedAway {
		s.Metrics.TurnedAway("rate")
	}
	id := http.Header{wire.RequestIDHeader: w.Header().Values(wire.RequestIDHeader)}
	upgrader := ws.HTTPUpgrader{Header: id, Protocol: func(p string) bool { return p == protocol.Subprotocol }, Timeout: s.Limits.Write}
	nc, rw, _, err := upgrader.Upgrade(r, w)
	if err != nil {
		if nc != nil {
			// The refusal has been written; there is nobody to tell about the close.
			_ = nc.Close()
		}
		s.Metrics.TurnedAway("handshake")
		return
	}
	s.serve(nc, client, place, buffered(rw.Reader), turnedAway)
}

// turnAway refuses an upgrade by a limit of its address.
func (s *Server) turnAway(w http.ResponseWriter, reason string, client limit.Client, e protocol.Event) {
	s.Admission.Tell.Tell(reason, "a WebSocket was refused", client)
	wire.WriteProblem(w, e)
}

// refuse tells why a request can't be upgraded, or "".
func (s *Server) refuse(r *http.Request) (reason string, code protocol.Code, text string) {
	s.mu.Lock()
	draining, count := s.draining, len(s.conns)
	s.mu.Unlock()
	switch {
	case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return "handshake", protocol.BadRequest, "this address speaks WebSocket; the request has no Upgrade"
	case !offers(r.Header, protocol.Subprotocol):
		return "subprotocol", protocol.BadRequest, "the subprotocol " + protocol.Subprotocol + " must be offered"
	case !s.originAllowed(r):
		return "origin", protocol.Forbidden, "pages of this origin may not connect"
	case draining:
		return "draining", protocol.Draining, "the server is going down"
	case count >= s.Limits.Connections && !s.makeRoom():
		return "full", protocol.Unavailable, "the server has as many connections as it may"
	}
	return "", "", ""
}

// makeRoom ends the oldest connection on which nobody has said hello, and tells whether there was one.
func (s *Server) makeRoom() bool {
	s.mu.Lock()
	oldest := s.fresh.Front()
	var c *conn
	if oldest != nil {
		c = s.fresh.Remove(oldest).(*conn)
		c.fresh = nil
	}
	s.mu.Unlock()
	if c == nil {
		return false
	}
	// Its last word would wait for a reader, and its place is needed now.
	s.cuts.Tell(limit.ReasonRoom, "a connection on which nobody had said hello was closed to make room", c.client)
	c.fail()
	return true
}

func offers(h http.Header, subprotocol string) bool {
	for _, line := range h.Values("Sec-WebSocket-Protocol") {
		for p := range strings.SplitSeq(line, ",") {
			if strings.TrimSpace(p) == subprotocol {
				return true
			}
		}
	}
	return false
}

// originAllowed keeps pages of other sites from using a browser's place in the network. A request without Origin is no
// page's. In dev pages of this machine may connect, but only by a loopback name: another name that leads here is a
// rebinding of somebody's DNS.
func (s *Server) originAllowed(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	if len(origins) > 1 || err != nil || u.Host == "" {
		return false
	}
	if slices.ContainsFunc(s.Origins, func(o string) bool { return strings.EqualFold(o, u.Scheme+"://"+u.Host) }) {
		return true
	}
	if s.Dev {
		return wire.LoopbackHost(r.Host) && wire.LoopbackHost(u.Host)
	}
	return wire.SameHost(u.Scheme, u.Host, r.Host)
}

// spread is a random time, in ms, after which a client is to come back.
func (s *Server) spread() int64 {
	return wire.RetryAfterMs/2 + rand.Int64N(max(1, s.Limits.Spread.Milliseconds()))
}

// buffered takes what the HTTP server read beyond the handshake; its reader is not used any more.
func buffered(r *bufio.Reader) []byte {
	n := r.Buffered()
	if n == 0 {
		return nil
	}
	early := make([]byte, n)
	// All n bytes are in the buffer already: nothing can fail.
	_, _ = r.Read(early)
	return early
}

// network reads a connection's bytes: what came early, then the socket. Before it waits for the peer it sees to it that
// answers leave, and sets the deadline.
type network struct {
	conn  net.Conn
	early []byte
	arm   func() error
}

func (n *network) Read(p []byte) (int, error) {
	if len(n.early) > 0 {
		k := copy(p, n.early)
		if n.early = n.early[k:]; len(n.early) == 0 {
			n.early = nil
		}
		return k, nil
	}
	if err := n.arm(); err != nil {
		return 0, err
	}
	return n.conn.Read(p)
}

// past is a deadline that wakes whoever reads.
var past = time.Unix(1, 0)
