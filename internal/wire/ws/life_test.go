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
	w.server.serve(here, nil, false)
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
		time.Sleep(9 * time.Second)
		p.send(`{"type":"ping"}`) // speaking isn't enough
		p.want(invalid)
		p.want(invalid)
		p.wantEnd(4401)
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("ended after %s", took)
		}
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
		w.server.serve(here, nil, false) // nobody reads the other end
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
