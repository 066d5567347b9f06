package session

import (
	"context"
	"fmt"
	"testing"

	"hapax/client/store"
	"hapax/protocol"
)

// subscribed returns a rig that shows rows 1..10 of room r.
func subscribed(t *testing.T) *rig {
	r := newRig(t, Config{})
	r.step(Subscribe{Room: "r", Limit: -1})
	r.connect()
	r.wantOut("hello", "subscribe r")
	r.snapshot("r", 10, msgs("r", 1, 10)...)
	r.wantShown("r", "1..10 @10")
	return r
}

func TestHelloThenRoomsThenOutbox(t *testing.T) {
	r := subscribed(t)
	r.step(Subscribe{Room: "a", Limit: 5})
	r.snapshot("a", 0)
	r.send("r", "A")
	r.lose()
	r.out()
	r.reconnect()
	r.wantOut("hello", "subscribe a@0 limit 5", "subscribe r@10", "status A")
	r.delta("r", 10, false)
	r.refuse("A", protocol.NotFound)
	r.wantOut("send A")
}

// R19: client at 10, head 50, pages of 24, 51 arrives live during the first page: 1..51 shown, no hole.
func TestPagesWithALiveRowBetween(t *testing.T) {
	r := subscribed(t)
	r.lose()
	r.reconnect()
	r.out()
	r.delta("r", 50, true, msgs("r", 11, 34)...)
	r.live(msg("r", 51))
	r.wantOut("subscribe r@34")
	r.wantShown("r", "1..34 @34")
	r.delta("r", 50, false, msgs("r", 35, 50)...)
	r.wantShown("r", "1..51 @51")
	r.live(msg("r", 51), msg("r", 50)) // no new lines
	r.live(msg("r", 52))
	r.wantShown("r", "1..52 @52")
	if s := r.m.Stats(); s.Drops != 2 || s.Gaps != 0 {
		t.Fatalf("stats %+v", s)
	}
	r.wantOut()
}

func TestRowsAheadOfAGapWaitThenTheRoomIsSubscribedAgain(t *testing.T) {
	t.Run("closed in time", func(t *testing.T) {
		r := subscribed(t)
		r.live(msg("r", 13), msg("r", 12), msg("r", 12), msg("r", 11))
		r.wantShown("r", "1..13 @13")
		r.advance(20_000)
		r.wantOut()
	})
	t.Run("10 s", func(t *testing.T) {
		r := subscribed(t)
		r.live(msg("r", 12))
		r.advance(9_999)
		r.wantOut()
		r.advance(1)
		r.wantOut("subscribe r@10")
		r.wantShown("r", "1..10 @10")
		r.delta("r", 12, false, msgs("r", 11, 12)...)
		r.wantShown("r", "1..12 @12")
	})
	t.Run("1,000 rows", func(t *testing.T) {
		r := subscribed(t)
		r.live(msgs("r", 12, 1011)...)
		r.wantOut()
		r.live(msg("r", 1012))
		r.wantOut("subscribe r@10")
	})
}

// R20, R12: what the cursor doesn't fit is replaced, rows and cursor together.
func TestSnapshotReplacesTheView(t *testing.T) {
	r := subscribed(t)
	r.lose()
	r.reconnect()
	other := msgs("r", 1, 8)
	for i := range other {
		other[i].Epoch, other[i].MessageID = "e2", "n"+other[i].MessageID
	}
	r.step(r.recv(protocol.Event{
		Type: protocol.TypeSnapshot, Ref: r.subRef("r"), Room: "r", Epoch: "e2", Head: 8, HeadID: "nr-8", Messages: other,
	}))
	r.wantShown("r", "1..8 @8")
	row := msg("r", 9)
	row.Epoch = "e2"
	r.live(row)
	r.wantShown("r", "1..9 @9")
	if e := eventsOf[RoomChanged](r); !e[len(e)-2].Replaced {
		t.Fatalf("events %+v", e)
	}
	r.out()
	r.live(msg("r", 10)) // of another epoch than the view: begin again
	r.wantOut("subscribe r@9")
	r.wantShown("r", "1..9 @9")
}

// R14, R15: empty rooms and empty deltas are ordinary.
func TestEmptyRoomsAndDeltas(t *testing.T) {
	r := newRig(t, Config{})
	r.step(Subscribe{Room: "r", Limit: -1})
	r.connect()
	r.snapshot("r", 0)
	r.wantShown("r", "@0")
	for range 3 {
		r.lose()
		r.reconnect()
		r.wantShown("r", "@0")
		r.step(r.recv(protocol.Event{Type: protocol.TypeDelta, Ref: r.subRef("r"), Room: "r", Epoch: testEpoch}))
	}
	r.live(msg("r", 1))
	r.wantShown("r", "1..1 @1")
}

// R16: frames of unknown types, and acks, move no cursor.
func TestOnlyRowsMoveTheCursor(t *testing.T) {
	r := subscribed(t)
	r.send("r", "A")
	c := r.last("A").Command
	r.step(r.recv(protocol.Event{Type: "weather", Room: "r"}))
	r.step(r.recv(protocol.Event{
		Type: protocol.TypeAck, Ref: c.Ref, Room: "r", ClientMessageID: "A", MessageID: "mine", Seq: 12, Epoch: testEpoch, At: 1,
	}))
	r.wantShown("r", "1..10 12..12 @10")
	r.lose()
	r.out()
	r.reconnect()
	r.wantOut("hello", "subscribe r@10")
	mine := msg("r", 12)
	mine.MessageID, mine.Actor, mine.ClientMessageID, mine.Text = "mine", testActor, "A", "A"
	r.delta("r", 12, false, msg("r", 11), mine)
	r.wantShown("r", "1..12 @12")
}

// A server that breaks the rules costs a delay, never the store and never a loop.
func TestUnsoundPages(t *testing.T) {
	hole := append(msgs("r", 11, 12), msg("r", 14))
	for name, e := range map[string]protocol.Event{
		"a hole":             {Type: protocol.TypeDelta, Epoch: testEpoch, Head: 14, HeadID: "r-14", Messages: hole},
		"another epoch":      {Type: protocol.TypeDelta, Epoch: "e9", Head: 10, HeadID: "r-10"},
		"more of nothing":    {Type: protocol.TypeDelta, Epoch: testEpoch, Head: 20, HeadID: "r-20", More: true},
		"snapshot past head": {Type: protocol.TypeSnapshot, Epoch: testEpoch, Head: 3, HeadID: "r-3", Messages: msgs("r", 2, 4)},
		"head id of another": {Type: protocol.TypeSnapshot, Epoch: testEpoch, Head: 3, HeadID: "zz", Messages: msgs("r", 2, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			r := subscribed(t)
			r.lose()
			r.reconnect()
			r.out()
			for i := range 4 {
				e.Ref, e.Room = r.subRef("r"), "r"
				r.step(r.recv(e))
				r.wantOut()
				r.wantShown("r", "1..10 @10")
				r.advance(900 << i)
				r.wantOut()
				r.advance(100 << i)
				r.wantOut("subscribe r@10")
			}
			if r.m.Stats().Garbled != 4 {
				t.Fatalf("stats %+v", r.m.Stats())
			}
		})
	}
}

func TestAnswersToEarlierSubscriptionsAreIgnored(t *testing.T) {
	r := subscribed(t)
	r.live(msg("r", 11))
	old := r.subRef("r")
	r.step(r.recv(protocol.Event{Type: protocol.TypeSnapshot, Ref: old, Room: "r", Epoch: testEpoch, Head: 3, HeadID: "r-3"}))
	r.wantShown("r", "1..11 @11")
}

func TestSubscribeRefused(t *testing.T) {
	r := newRig(t, Config{})
	r.step(Subscribe{Room: "r", Limit: -1})
	r.connect()
	r.out()
	refuse := func(code protocol.Code) {
		t.Helper()
		r.step(r.recv(protocol.Event{Type: protocol.TypeError, Ref: r.subRef("r"), Room: "r", Code: code, RetryAfterMs: 3000}))
	}
	refuse(protocol.RateLimited)
	r.advance(2999)
	r.wantOut()
	r.advance(1)
	r.wantOut("subscribe r")
	refuse(protocol.Forbidden)
	if e := eventsOf[RoomDenied](r); len(e) != 1 || e[0].Reason != "forbidden" {
		t.Fatalf("events %+v", e)
	}
	r.quiet(600_000)
	r.lose()
	r.reconnect()
	for _, f := range r.out() {
		if f == "subscribe r" {
			t.Fatal("asked again without another token")
		}
	}
	r.step(NewToken{})
	r.step(Token{Token: "with rights"})
	r.step(r.recv(r.welcome()))
	r.wantOut("hello", "subscribe r")
}

// A renewal that drops a right ends the subscription.
func TestServerEndsASubscription(t *testing.T) {
	r := subscribed(t)
	r.step(r.recv(protocol.Event{Type: protocol.TypeUnsubscribed, Room: "r", Reason: "forbidden"}))
	r.live(msg("r", 11))
	r.wantShown("r", "1..10 @10")
	if len(eventsOf[RoomDenied](r)) != 1 {
		t.Fatal("the app was not told")
	}
}

func TestUnsubscribeAndForget(t *testing.T) {
	r := subscribed(t)
	r.step(Unsubscribe{Room: "r"})
	r.wantOut("unsubscribe r")
	r.step(r.recv(protocol.Event{Type: protocol.TypeUnsubscribed, Ref: r.frames[len(r.frames)-1].Command.Ref, Room: "r"}))
	r.lose()
	r.reconnect()
	r.wantOut("hello")
	r.step(Subscribe{Room: "r", Limit: -1})
	r.wantOut("subscribe r@10") // what is stored stays
	r.delta("r", 10, false)
	r.ok(r.st.Forget(context.Background(), "r"))
	r.step(Forgot{Room: "r"})
	r.wantOut("subscribe r")
	r.snapshot("r", 10, msgs("r", 9, 10)...)
	r.wantShown("r", "9..10 @10")
}

// A subscribe whose answer never comes is asked again.
func TestSubscribeWithoutAnswer(t *testing.T) {
	r := newRig(t, Config{})
	r.step(Subscribe{Room: "r", Limit: -1})
	r.connect()
	r.out()
	r.quiet(30_900)
	r.wantOut("ping") // it may be long under way
	r.quiet(200)
	r.wantOut("subscribe r")
}

// own returns the row of an own message as it comes from the server.
func own(room string, seq int64, id, text string) protocol.Message {
	m := msg(room, seq)
	m.Actor, m.ClientMessageID, m.Text = testActor, id, text
	return m
}

// R24: the ack is lost; the own row comes live, in a delta, in a snapshot, in a page: one row, sent. C19: with another content it
// is parked, not confirmed. In every state of the row.
func TestOwnRowArrivesAnotherWay(t *testing.T) {
	ways := map[string]func(r *rig, m protocol.Message){
		"live": func(r *rig, m protocol.Message) { r.live(m) },
		"delta": func(r *rig, m protocol.Message) {
			r.lose()
			r.reconnect()
			r.delta("r", 11, false, m)
		},
		"snapshot": func(r *rig, m protocol.Message) {
			r.lose()
			r.reconnect()
			r.snapshot("r", 11, append(msgs("r", 9, 10), m)...)
		},
		"not past the cursor": func(r *rig, m protocol.Message) {
			m.Seq = 10
			r.live(m)
		},
		"a room without a view": func(r *rig, m protocol.Message) {
			m.Room = "r"
			r.step(Unsubscribe{Room: "r"})
			r.live(m)
		},
		"page": func(r *rig, m protocol.Message) {
			r.step(Ask{Ticket: 99, Command: protocol.Command{Type: protocol.TypeHistory, Room: "r", Before: 12, Limit: 1}})
			c := r.frames[len(r.frames)-1].Command
			r.step(r.recv(protocol.Event{Type: protocol.TypePage, Ref: c.Ref, Room: "r", Epoch: testEpoch, Messages: []protocol.Message{m}}))
		},
	}
	states := map[string]func(r *rig){
		"sending":   func(*rig) {},
		"queued":    func(r *rig) { r.refuse("A", protocol.Unavailable, 3600_000) },
		"parked":    func(r *rig) { r.refuse("A", protocol.BadRequest) },
		"uncertain": func(r *rig) { r.refuse("A", protocol.OutcomeUnknown) },
	}
	for way, arrive := range ways {
		for state, bring := range states {
			t.Run(way+", "+state, func(t *testing.T) {
				r := subscribed(t)
				r.send("r", "A")
				bring(r)
				arrive(r, own("r", 11, "A", "A"))
				if r.has("r", "A") {
					t.Fatal("still in the outbox")
				}
				if e := eventsOf[RowConfirmed](r); len(e) != 1 {
					t.Fatalf("confirmed %d times", len(e))
				}
				before := len(r.sends())
				r.quiet(20_000)
				if len(r.sends()) != before {
					t.Fatal("sent again")
				}
			})
			t.Run(way+", "+state+", another content", func(t *testing.T) {
				r := subscribed(t)
				r.send("r", "A")
				bring(r)
				arrive(r, own("r", 11, "A", "something else"))
				row := r.row("r", "A")
				aside := row.State == store.Parked && row.Reason == "id_conflict"
				stays := row.Aside() && (way == "not past the cursor" || way == "a room without a view" || way == "page")
				if !aside && !stays {
					t.Fatalf("row %+v", row)
				}
				if len(eventsOf[RowConfirmed](r)) != 0 {
					t.Fatal("confirmed")
				}
				before := len(r.sends())
				r.quiet(20_000)
				if len(r.sends()) != before {
					t.Fatal("sent again")
				}
				r.restart() // memory and store agree
				if again := r.row("r", "A"); again.State != row.State {
					t.Fatalf("row %+v", again)
				}
			})
		}
	}
}

// Another actor's row is nobody's own, whatever id it carries.
func TestAnotherActorsIdIsNotOwn(t *testing.T) {
	r := subscribed(t)
	r.send("r", "A")
	m := msg("r", 11)
	m.ClientMessageID, m.Text = "A", "A"
	r.live(m)
	if !r.has("r", "A") {
		t.Fatal("confirmed by another actor's row")
	}
	r.wantShown("r", "1..11 @11")
}

func TestManyRoomsManyRowsOneChangeEach(t *testing.T) {
	r := newRig(t, Config{})
	for i := range 3 {
		r.step(Subscribe{Room: fmt.Sprint(i), Limit: -1})
	}
	r.connect()
	for i := range 3 {
		r.snapshot(fmt.Sprint(i), 0)
	}
	var in []Input
	for seq := int64(1); seq <= 50; seq++ {
		for i := range 3 {
			m := msg(fmt.Sprint(i), seq)
			in = append(in, r.recv(protocol.Event{Type: protocol.TypeMessage, Room: m.Room, Message: m}))
		}
	}
	effects := r.m.Step(r.now, in...)
	apply, ok := effects[0].(Apply)
	if !ok || len(effects) != 1 || len(apply.Changes) != 3 {
		t.Fatalf("150 rows of 3 rooms became %d effects", len(effects))
	}
	r.step(r.run(effects))
	r.wantShown("2", "1..50 @50")
}
