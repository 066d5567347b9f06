package ws

import (
	"bufio"
	"container/list"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/gobwas/ws"

	"hapax/internal/auth"
	"hapax/internal/engine"
	"hapax/internal/wire"
	"hapax/internal/wire/limit"
	"hapax/protocol"
)

// readBuffer is what an idle connection holds for reading: a dozen of ordinary sends come in one read.
const readBuffer = 4 << 10

// Lingering lets the last frame reach a client that is still sending: a socket closed on unread bytes takes back what it sent.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 4 << 20
)

// errEnding says that the server itself ends the connection; the last frames are on their way.
var errEnding = errors.New("ending")

// conn is one connection. Its goroutine, run, reads and judges; the engine's goroutines append answers and rows.
type conn struct {
	server *Server
	outbound
	reader reader
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc

	client limit.Client
	place  *limit.Conn   // in the counts of connections; nil: not counted
	fresh  *list.Element // in Server.fresh until the first hello, under Server.mu

	// Under outbound.mu.
	inFlight int
	drained  bool      // told to come back: commands are answered draining, and it ends with its last send's answer
	changed  sync.Cond // inFlight or the waiting bytes fell, or the end

	// The reading goroutine's own. actor never changes once it is set, so the engine's may read it.
	session *auth.Session
	actor   string
	rooms   map[string]bool // subscribed: with live rows, or only for sending
	live    int             // of them, with live rows
	asking  sync.WaitGroup  // questions that wait for a send under way
	helloBy time.Time
	expiry  *time.Timer
}

// What a connection may send and have waiting before its first hello: one frame that holds a token and a name, and a few short answers.
const (
	strangerFrame    = auth.MaxToken + 1<<10
	strangerOutbound = 4 << 10
)

func newConn(s *Server, nc net.Conn, client limit.Client, place *limit.Conn, early []byte) *conn {
	c := &conn{server: s, client: client, place: place, helloBy: time.Now().Add(s.Limits.Hello)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.outbound = outbound{conn: nc, limit: strangerOutbound, timeout: s.Limits.Write, done: make(chan struct{}), wrote: c.wroteSome}
	c.changed.L = &c.outbound.mu
	c.reader = reader{
		in: bufio.NewReaderSize(&network{conn: nc, early: early, arm: c.arm}, readBuffer), limit: min(strangerFrame, s.Protocol.Frame),
		state: ws.StateServerSide, control: c.control,
	}
	return c
}

// run is the connection's life.
func (c *conn) run() {
	defer c.server.left(c)
	err := c.serve()
	c.finish(err)
	c.server.Rooms.Leave(c)
	c.giveRooms(c.live)
	c.cancel()
	c.asking.Wait()
	if c.expiry != nil {
		c.expiry.Stop()
	}
	<-c.done
	c.outbound.close()
	c.linger()
}

// serve reads and handles messages until something ends it; that is what it returns.
func (c *conn) serve() error {
	for {
		frame, err := c.reader.next(nil)
		if err == nil {
			err = c.await()
		}
		if err == nil {
			err = c.handle(frame)
		}
		putBuffer(frame)
		if err != nil {
			return err
		}
	}
}

// arm is called before the connection waits for its peer.
func (c *conn) arm() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending || c.broken {
		return errEnding
	}
	c.flushLocked()
	deadline := c.helloBy
	if c.session != nil {
		deadline = time.Now().Add(c.server.Limits.Idle)
	}
	return c.outbound.conn.SetReadDeadline(deadline)
}

// await holds the connection back while it has too much under way. It isn't read on until then, so the network holds back
// the client, and nothing is refused.
func (c *conn) await() error {
	return c.awaitUntil(func() bool { return c.inFlight < c.server.Limits.InFlight && len(c.frames) <= c.limit/2 })
}

// pageAhead is how many bytes may wait for a reader that asks for one more page.
const pageAhead = 256 << 10

// awaitReader holds the connection back until its client has read most of what it asked for.
func (c *conn) awaitReader() error {
	return c.awaitUntil(func() bool { return len(c.frames)+c.leaving <= pageAhead })
}

func (c *conn) awaitUntil(free func() bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !free() {
		if c.ending || c.broken {
			return errEnding
		}
		c.flushLocked()
		c.changed.Wait()
	}
	return nil
}

func (c *conn) wroteSome(bytes int, err error) {
	c.server.Metrics.Wrote(bytes)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.server.cuts.Tell("write_timeout", "a connection was ended", c.client)
	}
	c.mu.Lock()
	c.changed.Signal()
	c.mu.Unlock()
}

// control answers pings, and a close by one of the same code.
func (c *conn) control(op ws.OpCode, payload []byte) error {
	switch op {
	case ws.OpPing:
		c.push(func(b []byte) []byte { return append(appendHead(b, ws.OpPong, len(payload)), payload...) })
	case ws.OpClose:
		code, reason := ws.ParseCloseFrameData(payload)
		if len(payload) == 0 {
			code = ws.StatusNormalClosure
		} else if err := ws.CheckCloseFrameData(code, reason); err != nil {
			return &fault{ws.StatusProtocolError, err.Error()}
		}
		c.stop("client", false, nil, code, "")
		return errEnding
	}
	return nil
}

// finish says the last word, if it hasn't been said.
func (c *conn) finish(err error) {
	var bad *fault
	switch {
	case errors.As(err, &bad):
		code := protocol.BadRequest
		if bad == faultTooLarge {
			code = protocol.TooLarge
		}
		e := wire.Error(code, bad.reason, 0)
		c.stop("protocol", false, &e, bad.close, bad.reason)
	case errors.Is(err, os.ErrDeadlineExceeded) && c.session == nil:
		e := wire.Error(protocol.SessionInvalid, "no hello came in time", 0)
		_ = c.noHello(&e)
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.stop("idle", false, nil, ws.StatusGoingAway, "idle")
	default:
		c.stop("gone", false, nil, ws.StatusGoingAway, "")
	}
}

// stop ends the connection: an error frame where there is one, a close frame, and the reader is woken. drop forgets what
// still waits to be written. Only the first stop counts.
func (c *conn) stop(reason string, drop bool, e *protocol.Event, code ws.StatusCode, text string) {
	first := c.end(drop, func(b []byte) []byte {
		if e != nil {
			b = appendText(b, func(b []byte) []byte { return protocol.AppendEvent(b, e) })
		}
		return appendClose(b, code, text)
	})
	if !first {
		return
	}
	if reason != "client" && reason != "gone" {
		c.server.cuts.Tell(reason, "a connection was ended", c.client)
	}
	if e != nil {
		c.server.Metrics.Refused(e.Code, "ws")
	}
	c.mu.Lock()
	c.changed.Broadcast()
	c.mu.Unlock()
	// An error here means that the socket is closed already: whoever reads has been woken by that.
	_ = c.outbound.conn.SetReadDeadline(past)
}

// linger reads on for a moment, so that the last frame arrives, and closes the socket.
func (c *conn) linger() {
	// What goes wrong here changes nothing: the connection is over.
	if half, ok := c.outbound.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		_ = c.outbound.conn.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c.outbound.conn, lingerBytes)
	}
	_ = c.outbound.conn.Close()
}

// push appends finished frames; a connection that is too slow for them is cut.
func (c *conn) push(encode func([]byte) []byte) {
	if !c.append(encode) {
		c.cut()
	}
}

// tell appends an event.
func (c *conn) tell(e *protocol.Event) {
	if e.Type == protocol.TypeError {
		c.server.Metrics.Refused(e.Code, "ws")
	}
	c.push(func(b []byte) []byte {
		return appendText(b, func(b []byte) []byte { return protocol.AppendEvent(b, e) })
	})
}

// cut ends a connection that doesn't read fast enough. What waits for it is dropped: it catches up by its cursor.
func (c *conn) cut() {
	e := wire.Error(protocol.SlowReader, "the connection reads too slowly; subscribe again by the cursor", 0)
	c.stop(string(protocol.SlowReader), true, &e, closeCode(protocol.SlowReader), "slow reader")
}

// noHello ends a connection on which nobody said hello: what a stranger sends besides is answered once.
func (c *conn) noHello(e *protocol.Event) error {
	c.stop("hello", false, e, closeCode(protocol.SessionInvalid), "no hello")
	return errEnding
}

// turnAway tells the client to come back after retryMs, and ends.
func (c *conn) turnAway(retryMs int64) {
	e := wire.Error(protocol.Unavailable, "too many connections at once; come back later", retryMs)
	c.stop("rate", false, &e, statusTryAgainLater, "come back later")
}

// drain tells the client to come back after retryMs, and ends once its sends are answered.
func (c *conn) drain(retryMs int64) {
	e := wire.Error(protocol.Draining, "the server is going down; come back after retryAfterMs", retryMs)
	c.tell(&e)
	c.mu.Lock()
	c.drained = true
	rest := c.inFlight
	c.flushLocked()
	c.mu.Unlock()
	if rest == 0 {
		c.abort()
	}
}

// abort ends the connection of a server that goes down.
func (c *conn) abort() {
	c.stop("draining", false, nil, closeCode(protocol.Draining), "the server is going down")
}

// statusTryAgainLater is registered for a server that is overloaded (RFC 6455, registry of close codes).
const statusTryAgainLater ws.StatusCode = 1013

func closeCode(code protocol.Code) ws.StatusCode { return ws.StatusCode(code.Rule().Close) }

// Actor implements engine.Subscriber.
func (c *conn) Actor() string { return c.actor }

// Rows implements engine.Subscriber.
func (c *conn) Rows(_ string, rows []engine.Row) {
	c.push(func(b []byte) []byte {
		for i := range rows {
			frame := rows[i].Others
			if rows[i].Actor == c.actor {
				frame = rows[i].Own
			}
			b = append(appendHead(b, ws.OpText, len(frame)), frame...)
		}
		return b
	})
}

// Flush implements engine.Subscriber.
func (c *conn) Flush() { c.flush() }
