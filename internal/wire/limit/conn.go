package limit

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// ConnLimits bound connections. All are set.
type ConnLimits struct {
	Total      int           // at once, those that became WebSockets not counted
	PerAddress int           // of one address not yet signed in, those that became WebSockets included
	PerActor   int           // of one actor, signed in, those that became WebSockets included
	Idle       time.Duration // that one not signed in may be idle between requests
}

// The reasons for which the gate closes a connection.
const (
	ReasonAddress = "address" // its address has as many as it may, not signed in
	ReasonFull    = "full"    // as many are open as may be, and all of them at work
	ReasonRoom    = "room"    // the longest idle that hadn't signed in: a newer one took its place
	ReasonActor   = "actor"   // its actor has as many as it may
)

// Gate bounds the connections of one listener.
type Gate struct {
	limits  ConnLimits
	proxies *Proxies
	tell    *Teller

	mu      sync.Mutex
	open    int
	strange map[Client]int // by address, not signed in
	actors  map[string]int
	waiting list.List // of *Conn: not signed in, the oldest in front
}

// NewGate returns a gate without connections.
func NewGate(l ConnLimits, p *Proxies, t *Teller) *Gate {
	return &Gate{limits: l, proxies: p, tell: t, strange: make(map[Client]int), actors: make(map[string]int)}
}

// Conn is a connection that the gate counts, as a stranger's until SignedIn.
type Conn struct {
	net.Conn
	gate   *Gate
	client Client // at the other end; a proxy is itself

	// Under Gate.mu.
	counted Client // whose place it takes while strange: the client, or for whom the proxy speaks
	actor   string // "" until somebody signed in, and again behind a proxy, where one connection carries many
	strange bool
	gone    bool
	socket  bool          // became a WebSocket
	place   *list.Element // in Gate.waiting

	resting atomic.Bool // between two requests, or before the first
	known   atomic.Bool // not strange: copied for SetReadDeadline
}

// Listener returns l with the connections that the gate lets in. Others are closed at once: whoever opens hundreds doesn't read.
func (g *Gate) Listener(l net.Listener) net.Listener { return gated{l, g} }

type gated struct {
	net.Listener
	gate *Gate
}

// Accept implements net.Listener.
func (l gated) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.gate.admit(nc); c != nil {
			return c, nil
		}
	}
}

// admit counts a new connection, or closes it.
func (g *Gate) admit(nc net.Conn) *Conn {
	c := &Conn{Conn: nc, gate: g, client: g.proxies.Peer(nc.RemoteAddr()), strange: true}
	c.counted = c.client
	c.resting.Store(true)
	g.mu.Lock()
	reason := ""
	switch {
	case !c.client.Shared() && g.strange[c.client] >= g.limits.PerAddress:
		reason = ReasonAddress
	case g.open >= g.limits.Total && !g.makeRoomLocked():
		reason = ReasonFull
	default:
		g.open++
		g.strange[c.client]++
		c.place = g.waiting.PushBack(c)
	}
	g.mu.Unlock()
	if reason == "" {
		return c
	}
	g.tell.Tell(reason, "a connection was closed before it was served", c.client)
	// The peer is told nothing by a stranger's limits, and the close has no news for us.
	_ = nc.Close()
	return nil
}

// makeRoomLocked closes the longest waiting connection that nobody signed in on and that has no request under way; where all have one, the
// oldest. It tells whether there was one.
func (g *Gate) makeRoomLocked() bool {
	oldest := g.waiting.Front()
	if oldest == nil {
		return false
	}
	victim := oldest.Value.(*Conn)
	for e, looked := oldest, 0; e != nil && looked < roomLook; e, looked = e.Next(), looked+1 {
		if c := e.Value.(*Conn); c.resting.Load() {
			victim = c
			break
		}
	}
	g.leaveLocked(victim)
	go func() {
		g.tell.Tell(ReasonRoom, "a connection on which nobody had signed in was closed to make room", victim.client)
		_ = victim.Conn.Close() // it is given up whatever the close says
	}()
	return true
}

// roomLook bounds how many are looked at for one that is idle.
const roomLook = 64

// leaveLocked takes a connection out of all counts.
func (g *Gate) leaveLocked(c *Conn) {
	if c.gone {
		return
	}
	c.gone = true
	if !c.socket {
		g.open--
	}
	g.forgetLocked(c)
}

// forgetLocked takes a connection out of its address's count, or its actor's.
func (g *Gate) forgetLocked(c *Conn) {
	if c.strange {
		if g.strange[c.counted]--; g.strange[c.counted] == 0 {
			delete(g.strange, c.counted)
		}
		if c.place != nil {
			g.waiting.Remove(c.place)
			c.place = nil
		}
	}
	if c.actor != "" {
		if g.actors[c.actor]--; g.actors[c.actor] == 0 {
			delete(g.actors, c.actor)
		}
	}
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.gate.mu.Lock()
	c.gate.leaveLocked(c)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends the writing half, where the connection has halves.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Conn.Close()
}

// SetReadDeadline implements net.Conn. A connection that rests and on which nobody signed in has a shorter time.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if c.resting.Load() && !c.known.Load() {
		if latest := time.Now().Add(c.gate.limits.Idle); t.IsZero() || t.After(latest) {
			t = latest
		}
	}
	return c.Conn.SetReadDeadline(t)
}

// SignedIn says that a request of actor was authorised on the connection, which counts for the actor from now on; one behind a named proxy
// carries the requests of many and counts for nobody. It tells whether the actor may have one more.
func (c *Conn) SignedIn(actor string, proxied bool) bool {
	if c == nil {
		return true
	}
	if proxied && !c.socket {
		actor = ""
	}
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.gone || !c.strange && c.actor == actor {
		return true
	}
	if actor != "" && g.actors[actor] >= g.limits.PerActor {
		return false
	}
	g.forgetLocked(c)
	c.strange, c.actor = false, actor
	c.known.Store(true)
	if actor != "" {
		g.actors[actor]++
	}
	return true
}

// Upgrade says that the connection became a WebSocket, which has a bound in sum of its own, for a client that a proxy may have named. It
// tells whether the client may have one more that isn't signed in.
func (c *Conn) Upgrade(client Client) bool {
	if c == nil {
		return true
	}
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.gone || c.socket {
		return !c.gone
	}
	others := g.strange[client]
	if c.strange && c.counted == client {
		others--
	}
	if !client.Shared() && others >= g.limits.PerAddress {
		return false
	}
	g.forgetLocked(c)
	g.open--
	c.socket, c.strange, c.actor, c.counted = true, true, "", client
	c.known.Store(true) // WebSockets have a time of their own until the first hello
	g.strange[client]++
	return true
}

// Counts are what the gate holds: connections that are no WebSockets, and those not signed in.
func (g *Gate) Counts() (open, strange int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.strange {
		strange += n
	}
	return g.open, strange
}

type connKey struct{}

// Serve makes a server tell requests which connection they came by. It is to be called before the server serves.
func Serve(h *http.Server) {
	h.ConnContext = func(ctx context.Context, nc net.Conn) context.Context {
		if c := connOf(nc); c != nil {
			return context.WithValue(ctx, connKey{}, c)
		}
		return ctx
	}
	h.ConnState = func(nc net.Conn, state http.ConnState) {
		if c := connOf(nc); c != nil && (state == http.StateIdle || state == http.StateActive) {
			c.resting.Store(state == http.StateIdle)
		}
	}
}

func connOf(nc net.Conn) *Conn {
	if over, ok := nc.(*tls.Conn); ok {
		nc = over.NetConn()
	}
	c, _ := nc.(*Conn)
	return c
}

// ConnOf is the connection that a request came by, nil where no gate counts it.
func ConnOf(r *http.Request) *Conn {
	c, _ := r.Context().Value(connKey{}).(*Conn)
	return c
}
