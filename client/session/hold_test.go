package session

import (
	"context"
	"testing"

	"hapax/client/store"
	"hapax/protocol"
)

// quiet lets ms pass on an open connection with a server that answers pings only.
func (r *rig) quiet(ms int64) {
	r.t.Helper()
	for end := r.now.Mono + ms; r.now.Mono < end; {
		r.advance(min(1000, end-r.now.Mono))
		r.step(r.recv(protocol.Event{Type: protocol.TypePong}))
	}
}

func (r *rig) retry(room, id string) {
	r.t.Helper()
	row, err := r.st.Retry(context.Background(), store.Key{Room: room, ID: id}, r.serverTime())
	r.ok(err)
	r.step(RowIs{Row: row})
}

func (r *rig) discard(room, id string) {
	r.t.Helper()
	row, err := r.st.Discard(context.Background(), store.Key{Room: room, ID: id})
	r.ok(err)
	r.step(RowGone{Row: row})
}

func TestForbidden(t *testing.T) {
	t.Run("accepted before", func(t *testing.T) {
		r := pipelined(t)
		r.refuse("A", protocol.Forbidden)
		r.ack("A") // the status
		r.advance(200)
		r.wantOut("status A", "send B", "send C>B")
	})
	for _, code := range []protocol.Code{protocol.NotFound, protocol.OutcomeUnknown} {
		t.Run("held by "+string(code), func(t *testing.T) {
			r := pipelined(t)
			r.refuse("A", protocol.Forbidden)
			r.refuse("A", code)
			r.ack("X")
			r.wantRow("r", "A", store.Queued, 1, "forbidden")
			r.out()
			r.quiet(600_000)
			for _, f := range r.out() {
				if f != "ping" {
					t.Fatalf("frame %q of a held room", f)
				}
			}
			r.send("q", "Y")
			r.wantOut("send Y")
			r.restart() // the hold is stored
			r.wantRow("r", "A", store.Queued, 1, "forbidden")
		})
	}
	t.Run("no answer", func(t *testing.T) {
		r := pipelined(t)
		r.ack("X")
		r.refuse("A", protocol.Forbidden)
		r.wantOut("status A")
		r.quiet(10_000)
		r.quiet(1000)
		r.wantOut("ping", "status A") // overdue, which makes the connection doubtful too
		r.refuse("A", protocol.Unavailable)
		r.quiet(1900)
		r.wantOut()
		r.quiet(200)
		r.wantOut("status A")
		r.wantRow("r", "A", store.Queued, 1, "")
	})
	held := func(t *testing.T) *rig {
		r := pipelined(t)
		r.ack("X")
		r.refuse("A", protocol.Forbidden)
		r.refuse("A", protocol.NotFound)
		r.out()
		return r
	}
	t.Run("new token", func(t *testing.T) {
		r := held(t)
		r.step(NewToken{})
		r.step(Token{Token: "better"})
		r.wantOut("hello")
		r.step(r.recv(r.welcome()))
		r.advance(200)
		r.wantOut("send A", "send B>A", "send C>B")
		r.wantRow("r", "A", store.Sending, 2, "")
	})
	t.Run("new token while its status is asked", func(t *testing.T) {
		for _, answered := range []bool{false, true} {
			r := pipelined(t)
			r.ack("X")
			r.refuse("A", protocol.Forbidden)
			r.out()
			r.step(NewToken{})
			r.step(Token{Token: "better"})
			r.step(r.recv(r.welcome()))
			if answered {
				r.refuse("A", protocol.NotFound)
			} else {
				r.refuse("A", protocol.Unavailable)
				r.advance(1000)
			}
			r.advance(200)
			r.wantOut("hello", "send A", "send B>A", "send C>B")
			r.wantRow("r", "A", store.Sending, 2, "")
		}
	})
	t.Run("same token on a new connection", func(t *testing.T) {
		r := held(t)
		r.lose()
		r.reconnect()
		r.advance(5000)
		r.wantOut("hello")
	})
	t.Run("retry", func(t *testing.T) {
		r := held(t)
		r.retry("r", "A")
		r.advance(200)
		r.wantOut("send A", "send B>A", "send C>B")
		r.wantRow("r", "A", store.Sending, 1, "")
	})
	t.Run("discard", func(t *testing.T) {
		r := held(t)
		r.discard("r", "A")
		r.advance(200)
		r.wantOut("send B", "send C>B")
	})
}

// C08: delivered and then an error, through restarts: attempts on disk never pass the maximum, then the row is parked and its
// room held until Retry or Discard.
func TestAttemptsReachTheMaximum(t *testing.T) {
	r := newRig(t, Config{})
	r.step(r.sending("r", "A"), r.sending("r", "B"))
	sends := 0
	for i := 0; r.row("r", "A").State != store.Parked; i++ {
		if i > 40 {
			t.Fatal("never parked")
		}
		if i%3 == 2 {
			r.restart()
		}
		r.step(Connect{})
		r.greet("tok")
		r.advance(9_000)
		if row := r.row("r", "A"); row.State == store.Sending {
			sends++
			if row.Attempts != sends || row.Attempts > 12 {
				t.Fatalf("attempt %d stored as %d", sends, row.Attempts)
			}
		}
		r.lose()
		r.step(Disconnect{})
		r.advance(300_000)
	}
	r.wantRow("r", "A", store.Parked, 12, ReasonAttempts)
	if sends != 12 {
		t.Fatalf("%d sends", sends)
	}
	r.step(Connect{})
	r.greet("tok")
	r.out()
	r.quiet(3600_000)
	for _, f := range r.out() {
		if f != "ping" {
			t.Fatalf("frame %q of a held room", f)
		}
	}
	r.retry("r", "A")
	r.advance(100)
	r.wantOut("send A")
	r.wantRow("r", "A", store.Sending, 1, "")
	r.ack("A")
	r.quiet(310_000)
	if got := r.out(); len(got) == 0 || got[0] != "send B" {
		t.Fatalf("frames %q", got)
	}
}

func TestCrashInTheLastAttemptParks(t *testing.T) {
	r := newRig(t, Config{MaxAttempts: 1})
	r.connect()
	r.send("r", "A", "B")
	r.restart()
	r.advance(60_000)
	r.connect()
	r.wantOut("hello", "status A")
	r.refuse("A", protocol.NotFound)
	r.wantRow("r", "A", store.Parked, 1, ReasonAttempts)
	r.wantOut()
	r.discard("r", "A")
	r.advance(100)
	r.wantOut("send B")
}

// C10: the outbox pauses, attempts untouched, no row removed; the token is read when sending, and once.
func TestSessionInvalid(t *testing.T) {
	r := pipelined(t)
	asked := r.asked
	r.refuse("A", protocol.SessionInvalid)
	r.refuse("X", protocol.SessionInvalid)
	for _, id := range []string{"A", "B", "C"} {
		r.wantRow("r", id, store.Queued, 0, "")
	}
	if r.m.State() != Online || r.asked != asked+1 {
		t.Fatalf("state %s, asked %d times", r.m.State(), r.asked-asked)
	}
	r.send("n", "N")
	r.wantOut()
	r.step(Token{Token: "tok"}) // the one just refused: it may become good
	r.wantState(AuthRequired)
	r.wantOut()
	r.advance(1000)
	r.wantOut("hello")
	r.step(r.recv(protocol.Event{Type: protocol.TypeError, Ref: r.frames[len(r.frames)-1].Command.Ref, Code: protocol.SessionInvalid}))
	if r.asked != asked+1 {
		t.Fatalf("asked %d times", r.asked-asked)
	}
	r.step(NewToken{})
	r.step(Token{Token: "fresh"})
	r.wantOut("hello")
	r.step(r.recv(r.welcome()))
	r.advance(300)
	r.wantRow("r", "A", store.Sending, 1, "")
	if r.m.State() != Online || len(r.rows()) != 5 {
		t.Fatalf("state %s, %d rows", r.m.State(), len(r.rows()))
	}
}

func TestNotSubscribed(t *testing.T) {
	r := pipelined(t)
	r.refuse("A", protocol.NotSubscribed)
	r.refuse("B", protocol.NotSubscribed) // of an attempt that was taken back
	r.wantOut("subscribe r limit 0")      // once
	r.advance(300)
	r.wantOut() // rows wait for it
	r.snapshot("r", 40)
	r.advance(300)
	r.wantOut("send A", "send B>A", "send C>B")
	if _, ok, _ := r.st.Room(t.Context(), "r"); ok {
		t.Fatal("a room that is only sent to has no view")
	}
	for _, id := range []string{"A", "B", "C", "X"} {
		r.ack(id)
	}
	r.lose()
	r.reconnect()
	r.wantOut("hello", "subscribe r limit 0") // known by now
}

// A write-only room: the subscription is refused, sends go on, and the two refusals don't chase each other.
func TestNotSubscribedAndForbiddenToSubscribe(t *testing.T) {
	r := pipelined(t)
	r.ack("X")
	for range 3 {
		r.refuse("A", protocol.NotSubscribed)
		before := len(r.frames)
		r.advance(400)
		if len(r.frames) > before+1 {
			t.Fatalf("frames %q at once", r.out())
		}
		r.quiet(9000)
		r.step(r.recv(protocol.Event{Type: protocol.TypeError, Ref: r.subRef("r"), Room: "r", Code: protocol.Forbidden}))
		r.advance(300)
	}
	if subs := r.m.refs; subs > 100 {
		t.Fatalf("%d refs given", subs)
	}
}
