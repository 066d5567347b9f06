package ws

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobwas/ws"
	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"

	"hapax/internal/auth"
	"hapax/internal/engine"
	"hapax/internal/fanout/local"
	"hapax/internal/room"
	"hapax/internal/store/memory"
	"hapax/internal/telemetry"
	"hapax/internal/wire/limit"
	"hapax/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testIdle is longer than the times of the other tests, and no multiple of the times between pings.
const testIdle = 5*time.Minute + time.Second

var testSecret = []byte(strings.Repeat("k", 32))

// world is a server in a bubble of its own time.
type world struct {
	t      *testing.T
	server *Server
}

func inBubble(t *testing.T, f func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		o := engine.DefaultOptions()
		o.Encode = func(dst []byte, name, epoch string, m *room.Message, own bool) []byte {
			return protocol.AppendMessage(dst, name, epoch, m.Seq, m.MessageID, m.Actor, map[bool]string{true: m.ID}[own], m.Text, m.Data, m.At)
		}
		rooms, err := engine.New(memory.New(), local.New(), o)
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := auth.New(t.Context(), auth.Options{Algorithms: []string{"HS256"}, Secret: testSecret})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, server: New(Options{
			Rooms: rooms, Auth: tokens, Metrics: telemetry.NewMetrics(), Log: slog.New(slog.DiscardHandler), Clock: engine.SystemClock(), Protocol: protocol.DefaultLimits, RetentionMs: 1,
			Admission: limit.New(limit.Limits{}, nil, nil),
			Limits: Limits{
				Connections: 10, ConnectionsPerSecond: 10, ConnectionsBurst: 10, Subscriptions: 10, SendRooms: 10, InFlight: 10, Outbound: 8 << 20,
				Hello: 10 * time.Second, Idle: testIdle, Write: 10 * time.Second, Spread: 10 * time.Second,
			},
		})}
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			w.server.Drain(ctx)
			if err := rooms.Close(ctx); err != nil {
				t.Error(err)
			}
		}()
		f(w)
	})
}

func (w *world) token(actor string, ttl time.Duration) string {
	w.t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": actor, "exp": time.Now().Add(ttl).Unix(), "rooms": []map[string]string{{"room": "*", "rights": "rw"}},
	}).SignedString(testSecret)
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// peer is a client at the other end of a pipe. It reads at once what comes.
type peer struct {
	t    *testing.T
	conn net.Conn
	in   chan map[string]any // closed at the end of the connection
	code ws.StatusCode       // of the close frame; read it after in is closed
}

func (w *world) connect() *peer {
	here, there := net.Pipe()
	p := &peer{t: w.t, conn: there, in: make(chan map[string]any, 100)}
	w.server.serve(here, limit.Client{}, nil, nil, false)
	go p.read()
	return p
}

func (p *peer) read() {
	defer close(p.in)
	defer func() { _ = p.conn.Close() }()
	for {
		h, err := ws.ReadHeader(p.conn)
		if err != nil {
			return
		}
		payload := make([]byte, h.Length)
		if _, err := io.ReadFull(p.conn, payload); err != nil {
			return
		}
		if h.OpCode == ws.OpClose {
			p.code, _ = ws.ParseCloseFrameData(payload)
			return
		}
		o := map[string]any{"type": "pong frame"}
		if h.OpCode == ws.OpText {
			if err := json.Unmarshal(payload, &o); err != nil {
				return
			}
		}
		p.in <- o
	}
}

func (p *peer) send(frame string) {
	p.t.Helper()
	if _, err := p.conn.Write(masked(ws.OpText, true, frame)); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		p.t.Fatal(err)
	}
}

func (p *peer) hello(token string) { p.send(`{"type":"hello","token":"` + token + `"}`) }

// want returns the next frame, which must be of a type, or an error of a code.
func (p *peer) want(kind string) map[string]any {
	p.t.Helper()
	o, open := <-p.in
	if !open || o["type"] != kind && o["code"] != kind {
		p.t.Fatalf("want %s, got %v", kind, o)
	}
	return o
}

func (p *peer) wantEnd(code int) {
	p.t.Helper()
	for o := range p.in {
		p.t.Fatalf("want the end, got %v", o)
	}
	if int(p.code) != code {
		p.t.Fatalf("closed with %d, want %d", p.code, code)
	}
}

// wantGone waits for an end without a last word.
func (p *peer) wantGone() {
	p.t.Helper()
	for o := range p.in {
		p.t.Fatalf("want the end, got %v", o)
	}
}

const invalid = string(protocol.SessionInvalid)

// docs/spec/protocol.md, Client to server: when a token expires, commands get session_invalid, rows go on for 30 s, then
// the connection closes. The session's end counts the leeway of clocks in.
func TestAnExpiredTokenStopsCommandsThenRows(t *testing.T) {
	inBubble(t, func(w *world) {
		ada, ben := w.connect(), w.connect()
		began := time.Now()
		ada.hello(w.token("ada", time.Minute))
		ada.want("welcome")
		ada.send(`{"type":"subscribe","room":"tea"}`)
		ada.want("snapshot")
		ben.hello(w.token("ben", time.Hour))
		ben.want("welcome")
		ben.send(`{"type":"subscribe","room":"tea"}`)
		ben.want("snapshot")

		time.Sleep(time.Until(began.Add(time.Minute + auth.Leeway - time.Millisecond)))
		ada.send(`{"type":"ping"}`)
		ada.want("pong")
		time.Sleep(time.Millisecond)
		ada.send(`{"type":"send","room":"tea","clientMessageId":"a","text":"x"}`)
		ada.want(invalid)
		ada.send(`{"type":"ping"}`)
		ada.want(invalid)
		time.Sleep(expiredGrace - time.Millisecond)
		ben.send(`{"type":"send","room":"tea","clientMessageId":"b","text":"x"}`)
		ben.want("ack")
		ben.want("message")
		ada.want("message") // rows still go on
		ada.want(invalid)
		ada.wantEnd(4401)
		if took := time.Since(began); took != time.Minute+auth.Leeway+expiredGrace {
			t.Errorf("ended after %s", took)
		}
	})
}

func TestARenewalKeepsTheConnection(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.connect()
		p.hello(w.token("ada", time.Minute))
		p.want("welcome")
		p.send(`{"type":"subscribe","room":"tea"}`)
		p.want("snapshot")
		time.Sleep(time.Minute + auth.Leeway + time.Second) // expired, but the rows' 30 s aren't over
		p.hello(w.token("ada", 2*time.Minute))
		p.want("welcome")
		p.send(`{"type":"send","room":"tea","clientMessageId":"a","text":"x"}`) // the subscription stood
		p.want("ack")
		p.want("message")
		time.Sleep(time.Minute)
		p.send(`{"type":"ping"}`)
		p.want("pong")
		_ = p.conn.Close()
	})
}

func TestNoHelloInTime(t *testing.T) {
	inBubble(t, func(w *world) {
		began := time.Now()
		p := w.connect()
		p.want(invalid)
		p.wantEnd(4401)
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("ended after %s", took)
		}
	})
}

// Before hello there is one frame, of a token's size, then an end: a stranger makes the server neither read nor keep more.
func TestBeforeHelloOneFrameIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		frame, code string
		close       int
	}{
		"an empty object":    {`{}`, "bad_request", 4401},
		"no JSON":            {`x`, "bad_request", 4401},
		"a ping":             {`{"type":"ping"}`, "session_invalid", 4401},
		"a send":             {`{"type":"send","room":"tea","clientMessageId":"a","text":"x"}`, "session_invalid", 4401},
		"larger than tokens": {`{"type":"hello","token":"` + strings.Repeat("x", auth.MaxToken+2<<10) + `"}`, "too_large", 1009},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				p := w.connect()
				for range 20 {
					p.send(c.frame)
				}
				p.want("error")
				p.wantEnd(c.close)
			})
		})
	}
}

// What nobody reads gathers up to a few KiB before hello, pongs too.
func TestBeforeHelloLittleWaits(t *testing.T) {
	inBubble(t, func(w *world) {
		here, there := net.Pipe()
		defer func() { _ = there.Close() }()
		w.server.serve(here, limit.Client{}, nil, nil, false)
		synctest.Wait()
		c := w.server.open()[0]
		for range 200 {
			if _, err := there.Write(masked(ws.OpPing, true, strings.Repeat("p", 125))); err != nil {
				break
			}
			synctest.Wait()
			c.mu.Lock()
			waits := len(c.frames) + c.leaving
			c.mu.Unlock()
			if waits > 2*strangerOutbound {
				t.Fatal(waits, "bytes wait for a stranger")
			}
		}
		time.Sleep(time.Minute)
		if n := w.server.Count(); n != 0 {
			t.Error("who doesn't read is still connected")
		}
	})
}

// All connections of one actor share a quarter of what may wait for readers; who reads isn't hindered by those who don't.
func TestBytesThatWaitForReadersAreOneBudget(t *testing.T) {
	inBubble(t, func(w *world) {
		w.server.Admission = limit.New(limit.Limits{OutboundBytes: 1 << 20}, nil, nil)
		w.server.Limits.Connections = 100
		reader := w.connect()
		reader.hello(w.token("ben", time.Hour))
		reader.want("welcome")
		budget := w.server.Admission.Outbound
		for range 20 {
			here, there := net.Pipe()
			defer func() { _ = there.Close() }()
			w.server.serve(here, limit.Client{}, nil, nil, false)
			if _, err := there.Write(masked(ws.OpText, true, `{"type":"hello","token":"`+w.token("ann", time.Hour)+`"}`)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for _, c := range w.server.open() {
			if c.actor == "ann" {
				for range 60 {
					c.push(text(strings.Repeat("x", 1000)))
				}
			}
		}
		if used := budget.Used(); used == 0 || used > 1<<18 {
			t.Errorf("%d bytes wait for one actor's readers", used)
		}
		reader.send(`{"type":"ping"}`)
		reader.want("pong")
		time.Sleep(time.Minute)
		if used := budget.Used(); used != 0 {
			t.Errorf("%d bytes are charged for connections that ended", used)
		}
	})
}

// A page is made at the actor's rate, and not while the pages before it wait for their reader.
func TestPagesHaveARate(t *testing.T) {
	inBubble(t, func(w *world) {
		w.server.Admission = limit.New(limit.Limits{PageRate: 1, PageBurst: 2}, nil, nil)
		for _, p := range []*peer{w.connect(), w.connect()} {
			p.hello(w.token("ann", time.Hour))
			p.want("welcome")
			p.send(`{"type":"subscribe","room":"tea"}`)
		}
		p := w.connect()
		p.hello(w.token("ann", time.Hour))
		p.want("welcome")
		synctest.Wait()
		for _, frame := range []string{`{"type":"history","room":"tea","before":9,"limit":1,"ref":"r"}`, `{"type":"subscribe","room":"tea","ref":"r"}`} {
			p.send(frame)
			if e := p.want("error"); e["code"] != "rate_limited" || e["retryAfterMs"] == nil || e["ref"] != "r" || e["room"] != "tea" {
				t.Errorf("%s: %v", frame, e)
			}
		}
		ben := w.connect()
		ben.hello(w.token("ben", time.Hour))
		ben.want("welcome")
		ben.send(`{"type":"subscribe","room":"tea"}`)
		ben.want("snapshot")
		time.Sleep(time.Second)
		p.send(`{"type":"history","room":"tea","before":9,"limit":1}`)
		p.want("page")
	})
}

func TestRoomsOfAnActorOverAllItsConnections(t *testing.T) {
	inBubble(t, func(w *world) {
		w.server.Admission = limit.New(limit.Limits{ActorRooms: 2}, nil, nil)
		first, second := w.connect(), w.connect()
		for _, p := range []*peer{first, second} {
			p.hello(w.token("ann", time.Hour))
			p.want("welcome")
		}
		for _, name := range []string{"tea", "milk", "tea"} {
			first.send(`{"type":"subscribe","room":"` + name + `"}`)
			first.want("snapshot")
		}
		second.send(`{"type":"subscribe","room":"tea"}`)
		if e := second.want("error"); e["code"] != "rate_limited" {
			t.Errorf("%v", e)
		}
		first.send(`{"type":"unsubscribe","room":"milk"}`)
		first.want("unsubscribed")
		second.send(`{"type":"subscribe","room":"tea"}`)
		second.want("snapshot")
		_ = first.conn.Close()
		_ = second.conn.Close()
		synctest.Wait()
		if n, _ := w.server.Admission.Rooms.Taken(); n != 0 {
			t.Error(n, "rooms are still counted")
		}
	})
}

// At the bound of all connections a newcomer takes the place of who has waited longest without saying hello.
func TestWhoSaidNoHelloMakesRoom(t *testing.T) {
	inBubble(t, func(w *world) {
		known := w.connect()
		known.hello(w.token("ann", time.Hour))
		known.want("welcome")
		oldest, newer := w.connect(), w.connect()
		synctest.Wait()
		if !w.server.makeRoom() {
			t.Fatal("nobody made room")
		}
		oldest.wantGone()
		if !w.server.makeRoom() {
			t.Fatal("nobody made room")
		}
		newer.wantGone()
		if w.server.makeRoom() {
			t.Error("who said hello made room")
		}
		known.send(`{"type":"ping"}`)
		known.want("pong")
	})
}

func TestASilentConnectionEndsAndAPingingOneStays(t *testing.T) {
	inBubble(t, func(w *world) {
		silent, pinging := w.connect(), w.connect()
		for _, p := range []*peer{silent, pinging} {
			p.hello(w.token("ada", 24*time.Hour))
			p.want("welcome")
		}
		began := time.Now()
		for range 14 {
			time.Sleep(25 * time.Second)
			if _, err := pinging.conn.Write(masked(ws.OpPing, true, "")); err != nil {
				t.Fatal(err)
			}
			pinging.want("pong frame")
			if over := time.Since(began) > testIdle; over != (w.server.Count() == 1) {
				t.Fatalf("after %s: %d connections", time.Since(began), w.server.Count())
			}
		}
		silent.wantEnd(1001)
		_ = pinging.conn.Close()
	})
}

// A client's close is answered with the same code, and the server forgets the connection.
func TestAClientsClose(t *testing.T) {
	inBubble(t, func(w *world) {
		p := w.connect()
		p.hello(w.token("ada", time.Hour))
		p.want("welcome")
		if _, err := p.conn.Write(masked(ws.OpClose, true, "\x0b\xb8bye")); err != nil { // 3000
			t.Fatal(err)
		}
		p.wantEnd(3000)
		synctest.Wait()
		if n := w.server.Count(); n != 0 {
			t.Fatalf("%d connections", n)
		}
	})
}

// A drain ends also where a client takes nothing and closes nothing.
func TestADrainDoesntWaitForADeadClient(t *testing.T) {
	inBubble(t, func(w *world) {
		here, there := net.Pipe()
		defer func() { _ = there.Close() }()
		w.server.serve(here, limit.Client{}, nil, nil, false) // nobody reads the other end
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		began := time.Now()
		w.server.Drain(ctx)
		if took := time.Since(began); took != 3*time.Second+killAfter || w.server.Count() != 0 {
			t.Errorf("%d connections after %s", w.server.Count(), took)
		}
		late := w.connect() // let in by a race with the drain
		late.want(string(protocol.Draining))
		late.wantEnd(1012)
		w.server.Drain(context.Background())
	})
}
