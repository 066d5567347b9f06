package session

import (
	"context"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"hapax/client/store"
	"hapax/protocol"
)

// states returns the connection's states as the app was told them.
func (r *rig) states() (out []State) {
	for _, e := range eventsOf[ConnectionChanged](r) {
		out = append(out, e.State)
	}
	return out
}

func (r *rig) wantState(want State) {
	r.t.Helper()
	if got := r.m.State(); got != want {
		r.t.Fatalf("state %s, want %s; told %v", got, want, r.states())
	}
}

func TestConnectionStates(t *testing.T) {
	r := newRig(t, Config{})
	r.wantState(Offline)
	r.step(Connect{})
	r.wantState(Connecting)
	r.step(Token{Token: "tok"})
	r.step(Connected{Conn: r.conn})
	r.wantState(Connecting)
	r.wantOut("hello")
	r.step(r.recv(r.welcome()))
	r.wantState(Online)
	r.lose()
	r.wantState(Offline)
	r.reconnect()
	r.step(Disconnect{})
	r.wantState(Offline)
	if r.open {
		t.Fatal("still open")
	}
	r.advance(3600_000)
	r.wantState(Offline)
	if r.dials != 2 {
		t.Fatalf("%d dials", r.dials)
	}
}

// R25: the counter goes back only after 10 s up after a welcome; a bare connection doesn't do.
func TestBackoffIsNotResetByABareConnection(t *testing.T) {
	r := newRig(t, Config{}) // u = 1: whole delays
	r.step(Connect{})
	want := int64(1000)
	for range 9 {
		r.step(Token{Token: "tok"})
		r.step(Connected{Conn: r.conn}) // the server is slow and never welcomes
		r.lose()
		if wait := r.wake - r.now.Mono; wait != want {
			t.Fatalf("waits %d, want %d", wait, want)
		}
		r.advance(r.wake - r.now.Mono)
		want = min(want*2, 60_000)
	}
	r.greet("tok")
	r.advance(9_999)
	r.lose()
	if wait := r.wake - r.now.Mono; wait != 60_000 {
		t.Fatalf("waits %d after 9.999 s up", wait)
	}
	r.reconnect()
	r.advance(10_000)
	r.lose()
	if wait := r.wake - r.now.Mono; wait != 1000 {
		t.Fatalf("waits %d after 10 s up", wait)
	}
}

func TestReconnectDelayProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(t, Config{Rand: func() float64 { return rapid.Float64Range(0, 1).Draw(t, "u") }})
		r.step(Connect{})
		for range rapid.IntRange(1, 30).Draw(t, "losses") {
			r.step(Token{Token: "tok"})
			r.step(Lost{Conn: r.conn, Err: errors.New("refused")})
			if wait := r.wake - r.now.Mono; wait < 500 || wait > 60_000 {
				t.Fatalf("waits %d", wait)
			}
			r.advance(r.wake - r.now.Mono)
		}
	})
}

func TestGaveUpAndConnectStartsAgain(t *testing.T) {
	r := newRig(t, Config{MaxTries: 3})
	r.step(Connect{})
	for range 3 {
		r.step(Token{Token: "tok"})
		r.step(Lost{Conn: r.conn, Err: errors.New("refused")})
		r.advance(60_000)
	}
	r.wantState(GaveUp)
	r.advance(24 * 3600_000)
	if r.dials != 3 {
		t.Fatalf("%d dials", r.dials)
	}
	r.connect()
	r.wantState(Online)
}

func TestComeBackAfterIsObeyedWithJitter(t *testing.T) {
	for _, u := range []float64{0, 1} {
		r := newRig(t, Config{Rand: func() float64 { return u }})
		r.step(Connect{})
		r.step(Token{Token: "tok"})
		r.step(Connected{Conn: r.conn})
		r.step(r.recv(protocol.Event{Type: protocol.TypeError, Code: protocol.Draining, RetryAfterMs: 20_000}))
		if wait, want := r.wake-r.now.Mono, 20_000+int64(u*10_000); wait != want {
			t.Fatalf("u = %v: waits %d, want %d", u, wait, want)
		}
	}
}

func TestPingEvery25sAndTenSecondsOfSilence(t *testing.T) {
	r := newRig(t, Config{})
	r.connect()
	r.out()
	for range 5 {
		r.advance(25_000)
		r.wantOut("ping")
		r.step(r.recv(protocol.Event{Type: "anything"})) // any frame will do
	}
	r.advance(25_000)
	r.advance(9_999)
	r.wantState(Online)
	r.advance(1)
	r.wantState(Offline)
	e := eventsOf[ConnectionChanged](r)
	if !errors.Is(e[len(e)-1].Err, ErrNoAnswer) {
		t.Fatalf("told %v", e[len(e)-1])
	}
}

func TestSilentServersAreGivenUp(t *testing.T) {
	r := newRig(t, Config{})
	r.step(Connect{})
	r.step(Token{Token: "tok"})
	r.advance(20_000) // the dial hangs
	r.wantState(Offline)
	r.advance(1000)
	r.step(Token{Token: "tok"})
	r.step(Connected{Conn: r.conn})
	r.advance(20_000) // no welcome
	r.wantState(Offline)
	r.advance(2000)
	r.wantState(Connecting)
}

func TestTokenThatCantBeHad(t *testing.T) {
	r := newRig(t, Config{})
	r.step(Connect{})
	r.step(Token{Err: errors.New("sign in first")})
	r.wantState(AuthRequired)
	r.advance(1000)
	if r.asked != 2 || r.dials != 0 {
		t.Fatalf("asked %d, dialled %d", r.asked, r.dials)
	}
}

// R30: another actor's token on an open connection, another actor or server on this store: nothing sent, nothing shown.
func TestAnotherActorOrServer(t *testing.T) {
	for name, change := range map[string]func(*protocol.Event){
		"actor":  func(e *protocol.Event) { e.Actor = "eve" },
		"server": func(e *protocol.Event) { e.Server = "elsewhere" },
	} {
		t.Run(name, func(t *testing.T) {
			r := subscribed(t)
			r.send("r", "A")
			r.restart()
			r.step(Subscribe{Room: "r", Limit: -1}, Connect{})
			r.step(Token{Token: "tok"})
			r.step(Connected{Conn: r.conn})
			e := r.welcome()
			change(&e)
			r.step(r.recv(e))
			r.wantState(GaveUp)
			r.wantOut("hello")
			states := eventsOf[ConnectionChanged](r)
			if !errors.Is(states[len(states)-1].Err, ErrWrongStore) || r.open {
				t.Fatalf("told %+v", states[len(states)-1])
			}
			r.advance(3600_000)
			r.wantOut()
			if o, _ := r.st.Owner(context.Background()); o != (store.Owner{Actor: testActor, Server: testServer}) {
				t.Fatalf("owner %+v", o)
			}
			r.connect() // the right one again
		})
	}
	t.Run("renewal", func(t *testing.T) {
		r := subscribed(t)
		r.step(NewToken{})
		r.step(Token{Token: "eve's"})
		hello := r.frames[len(r.frames)-1].Command.Ref
		r.step(r.recv(protocol.Event{Type: protocol.TypeError, Ref: hello, Code: protocol.ActorMismatch}))
		r.wantState(AuthRequired)
		r.out()
		r.advance(3600_000)
		r.wantOut()
	})
}

// A token that comes up while another is on its way is asked for once that is through, at whatever moment it came.
func TestNewTokenWhileAnotherIsOnItsWay(t *testing.T) {
	for moment := range 4 {
		r := newRig(t, Config{})
		at := func(now int) {
			if moment == now {
				r.step(NewToken{})
			}
		}
		r.step(Connect{})
		at(0)
		r.step(Token{Token: "old"})
		at(1)
		r.step(Connected{Conn: r.conn})
		at(2)
		asked := r.asked
		r.step(r.recv(r.welcome()))
		if moment == 3 { // a renewal is out
			r.step(NewToken{})
			r.step(Token{Token: "newer"})
			r.step(NewToken{})
			r.step(Token{Token: "newest"})
			asked = r.asked
			r.step(r.recv(r.welcome()))
		}
		if r.asked != asked+1 {
			t.Fatalf("moment %d: asked for %d more tokens after the welcome", moment, r.asked-asked)
		}
		r.step(Token{Token: "newest"})
		if c := r.frames[len(r.frames)-1].Command; c.Type != protocol.TypeHello || c.Token != "newest" {
			t.Fatalf("moment %d: the last frame is %+v", moment, c)
		}
		r.step(r.recv(r.welcome()))
		r.quiet(60_000)
		if r.asked != asked+1 {
			t.Fatalf("moment %d: asked on and on", moment)
		}
	}
}

// The token is renewed on the open connection, before it runs out, when the app says so.
func TestRenewalOnAnOpenConnection(t *testing.T) {
	r := subscribed(t)
	r.out()
	r.step(NewToken{})
	r.send("r", "A") // nothing pauses meanwhile
	r.step(Token{Token: "next"})
	r.wantOut("send A", "hello")
	r.step(r.recv(r.welcome()))
	r.live(msg("r", 11))
	r.wantShown("r", "1..11 @11")
	r.wantState(Online)
	if r.dials != 1 {
		t.Fatalf("%d dials", r.dials)
	}
}

func TestQuestions(t *testing.T) {
	r := newRig(t, Config{})
	r.step(Ask{Ticket: 5, Command: protocol.Command{Type: protocol.TypeStatus, Room: "r", ClientMessageID: "Q", Limit: -1}})
	r.step(Ask{Ticket: 6, Command: protocol.Command{Type: protocol.TypeHistory, Room: "r", Before: 9, Limit: 2}})
	r.step(Unask{Ticket: 6})
	r.connect()
	r.wantOut("hello", "status Q")
	r.lose()
	r.reconnect()
	r.wantOut("hello", "status Q") // it changes nothing, so it is asked again
	r.refuse("Q", protocol.SessionInvalid)
	r.step(Token{Token: "fresh"})
	r.step(r.recv(r.welcome()))
	r.wantOut("hello", "status Q")
	r.refuse("Q", protocol.NotFound)
	if len(r.answers) != 1 || r.answers[0].Ticket != 5 || r.answers[0].Event.Code != protocol.NotFound {
		t.Fatalf("answers %+v", r.answers)
	}
}

// C17: a store that fails: one event, sends refused, no loop, the connection closed.
func TestStoreFails(t *testing.T) {
	for name, when := range map[string]func(r *rig){
		"at a send":  func(r *rig) { r.send("r", "B") },
		"at a row":   func(r *rig) { r.live(msg("r", 11)) },
		"at a retry": func(r *rig) { r.refuse("A", protocol.Unavailable); r.advance(10_000) },
	} {
		t.Run(name, func(t *testing.T) {
			r := subscribed(t)
			r.send("r", "A")
			disk := errors.New("disk full")
			r.storing = disk
			when(r)
			r.out()
			failed := eventsOf[Failed](r)
			if len(failed) != 1 || !errors.Is(failed[0].Err, disk) || !errors.Is(r.m.Broken(), disk) || r.open {
				t.Fatalf("failed %+v, open %v", failed, r.open)
			}
			r.send("r", "C")
			if a := r.answers[len(r.answers)-1]; a.Err == nil {
				t.Fatalf("answer %+v", a)
			}
			r.advance(3600_000)
			r.step(Connect{}, NewToken{}, Visible{})
			r.advance(3600_000)
			r.wantOut()
			if len(eventsOf[Failed](r)) != 1 {
				t.Fatal("told again")
			}
			r.restart() // on a store that works again
			r.step(Connect{})
			r.greet("tok")
			r.quiet(20_000)
			if got := r.sends(); len(got) == 0 {
				t.Fatal("A is lost")
			}
		})
	}
}

func TestFullOutbox(t *testing.T) {
	r := newRig(t, Config{Limits: store.Limits{Queued: 2}})
	r.send("r", "A", "B", "C")
	if a := r.answers[2]; a.Added.Outcome != store.Full {
		t.Fatalf("answer %+v", a)
	}
	r.connect()
	r.ack("A")
	r.advance(100)
	r.wantOut("hello", "send A", "send B")
}

// C21, C06: rows come, go and change by other handles of the store; each row has one flight.
func TestOtherHandlesChangeTheStore(t *testing.T) {
	ctx := context.Background()
	r := newRig(t, Config{})
	r.connect()
	r.send("w", "W")
	r.ack("W")
	r.warm()
	r.send("r", "A")
	r.refuse("A", protocol.BadRequest)
	r.send("r", "B")
	r.refuse("B", protocol.RateLimited, 60_000)
	r.out()
	other := another(r)
	_, err := other.Add(ctx, 0, []store.Entry{{Key: store.Key{Room: "r", ID: "C"}, Fingerprint: fp("C"), State: store.Queued}})
	r.ok(err)
	_, err = other.Add(ctx, 0, []store.Entry{{Key: store.Key{Room: "q", ID: "D"}, Fingerprint: fp("D"), State: store.Queued}})
	r.ok(err)
	_, err = other.Retry(ctx, store.Key{Room: "r", ID: "A"}, 1)
	r.ok(err)
	r.step(Rows{Rows: r.rows()}, Rows{Rows: r.rows()})
	r.advance(200)
	r.wantOut("send D", "send A") // B, before C, still waits
	_, err = other.Discard(ctx, store.Key{Room: "r", ID: "B"})
	r.ok(err)
	_, err = other.Discard(ctx, store.Key{Room: "q", ID: "D"})
	r.ok(err)
	r.step(Rows{Rows: r.rows()})
	r.advance(200)
	r.wantOut("send C>A")
	r.ack("A")
	r.ack("C")
	if len(r.rows()) != 0 {
		t.Fatalf("rows %+v", r.rows())
	}
}

// A row cancelled by another process between the machine's word and the store's: its frame is not written, and the row
// doesn't come back.
func TestCancelledBeforeTheFrameLeaves(t *testing.T) {
	ctx := context.Background()
	r := newRig(t, Config{})
	r.send("r", "A", "B")
	other := another(r)
	_, err := other.Cancel(ctx, store.Key{Room: "r", ID: "A"})
	r.ok(err)
	r.connect()
	r.advance(100)
	r.wantOut("hello", "send B")
	if r.has("r", "A") {
		t.Fatal("the row came back")
	}
}

func TestUnreadableBody(t *testing.T) {
	r := newRig(t, Config{})
	r.connect()
	r.send("r", "A")
	r.step(Unreadable{Key: store.Key{Room: "r", ID: "A"}, Reason: ReasonUnreadable})
	r.wantRow("r", "A", store.Parked, 0, ReasonUnreadable)
	r.send("r", "B")
	r.advance(100)
	r.wantRow("r", "B", store.Sending, 1, "")
}

// A row that was stored before another change of the same Step failed was accepted, and its Send says so.
func TestStoreFailsAfterTheRowWasAdded(t *testing.T) {
	r := newRig(t, Config{})
	r.connect()
	r.send("r", "A")
	r.storing, r.addGoes = errors.New("disk full"), true
	r.step(r.refusal("A", protocol.Unavailable), r.sending("r", "B"))
	a := r.answers[len(r.answers)-1]
	if a.Err != nil || a.Added.Outcome != store.Inserted || r.m.Broken() == nil {
		t.Fatalf("answer %+v, broken %v", a, r.m.Broken())
	}
	r.restart()
	r.wantRow("r", "B", store.Queued, 0, "")
}
