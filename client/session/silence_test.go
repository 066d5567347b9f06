package session

import (
	"testing"

	"hapax/protocol"
)

func (r *rig) pong() Input {
	for i := len(r.frames) - 1; i >= 0; i-- {
		if c := r.frames[i].Command; c.Type == protocol.TypePing {
			return r.recv(protocol.Event{Type: protocol.TypePong, Ref: c.Ref})
		}
	}
	r.t.Fatal("no ping")
	return nil
}

// H3: when the app or its network comes back, a connection has to prove itself within max(3 s, 4 × the time of pongs).
func TestComingBackPingsAtOnce(t *testing.T) {
	t.Run("dead", func(t *testing.T) {
		r := newRig(t, Config{})
		r.connect()
		r.advance(7000)
		r.out()
		r.step(Visible{})
		r.wantOut("ping")
		r.step(Visible{})
		r.wantOut() // one is out
		r.advance(2999)
		r.wantState(Online)
		r.advance(1)
		r.wantState(Offline)
	})
	t.Run("alive", func(t *testing.T) {
		r := newRig(t, Config{})
		r.connect()
		r.step(Visible{})
		r.advance(2000)
		r.step(r.pong())
		r.advance(20_000)
		r.wantState(Online)
		r.step(Visible{}) // a pong took 2 s: 8 s are given
		r.advance(7999)
		r.wantState(Online)
		r.advance(1)
		r.wantState(Offline)
	})
	t.Run("a ping is out", func(t *testing.T) {
		r := newRig(t, Config{})
		r.connect()
		r.advance(26_000)
		r.wantOut("hello", "ping")
		r.step(Visible{})
		r.wantOut()
		r.advance(3000)
		r.wantState(Offline)
	})
	t.Run("an overdue answer", func(t *testing.T) {
		r := newRig(t, Config{})
		r.connect()
		r.send("r", "A")
		r.ack("A") // at once: the deadline is a second
		r.send("r", "B")
		r.advance(1000)
		r.wantOut("hello", "send A", "send B", "ping", "status B")
		r.advance(3000)
		r.wantState(Offline) // 4 s after the connection died, not 35
		r.reconnect()
		r.wantOut("hello", "status B")
		r.refuse("B", protocol.NotFound)
		r.wantOut("send B")
	})
}

// H3: rows that are awaited may be long under way in one frame: only 30 s without any frame cut. What was cut is asked for at a quarter
// of its size, until the room is live.
func TestRowsMayBeLongUnderWay(t *testing.T) {
	r := newRig(t, Config{})
	r.feature = protocol.Features()
	r.step(Subscribe{Room: "r", Limit: -1})
	r.connect()
	r.wantOut("hello", "subscribe r")
	r.step(Visible{})
	r.advance(29_000)
	r.wantState(Online)
	r.step(r.recv(protocol.Event{Type: "anything"})) // of another command
	for _, size := range []string{"262144", "65536", "16384", "16384"} {
		r.out()
		r.lose()
		r.reconnect()
		r.wantOut("hello", "subscribe r bytes "+size)
		r.step(Visible{})
		r.advance(29_999)
		r.wantState(Online)
	}
	r.snapshot("r", 3, msgs("r", 1, 3)...)
	r.lose()
	r.out()
	r.reconnect()
	r.wantOut("hello", "subscribe r@3")
	r.delta("r", 9, true, msgs("r", 4, 6)...)
	r.wantOut("subscribe r@6")
	r.step(Visible{})
	r.lose()
	r.reconnect()
	r.wantOut("ping", "hello", "subscribe r@6 bytes 262144")
	r.delta("r", 9, true, msgs("r", 7, 8)...)
	r.wantOut("subscribe r@8 bytes 262144")
	r.delta("r", 9, false, msgs("r", 9, 9)...)
	r.lose()
	r.reconnect()
	r.wantOut("hello", "subscribe r@9")
	t.Run("silence", func(t *testing.T) {
		r := newRig(t, Config{})
		r.step(Subscribe{Room: "r", Limit: -1})
		r.connect()
		r.advance(25_000) // pings
		r.advance(4999)
		r.wantState(Online)
	})
	t.Run("history", func(t *testing.T) {
		r := newRig(t, Config{})
		r.feature = protocol.Features()
		r.step(Ask{Ticket: 1, Command: protocol.Command{Type: protocol.TypeHistory, Room: "r", Before: 9, Limit: 2}})
		r.connect()
		r.step(Visible{})
		r.advance(29_999)
		r.wantState(Online)
		r.advance(1)
		r.wantState(Offline)
		r.reconnect()
		if c := r.frames[len(r.frames)-1].Command; c.Type != protocol.TypeHistory || c.MaxBytes != 262144 {
			t.Fatalf("asked again as %+v", c)
		}
		r.step(r.recv(protocol.Event{Type: protocol.TypePage, Ref: r.frames[len(r.frames)-1].Command.Ref, Room: "r", Epoch: testEpoch}))
		if len(r.answers) != 1 {
			t.Fatalf("answers %+v", r.answers)
		}
	})
	t.Run("an old server", func(t *testing.T) {
		r := newRig(t, Config{})
		r.step(Subscribe{Room: "r", Limit: -1})
		r.connect()
		r.lose()
		r.out()
		r.reconnect()
		r.wantOut("hello", "subscribe r")
	})
}
