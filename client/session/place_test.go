package session

import (
	"fmt"
	"testing"

	"hapax/client/store"
	"hapax/protocol"
)

// placed returns a rig on a server that knows live: false, with room for so many rooms.
func placed(t *testing.T, rooms int) *rig {
	t.Helper()
	r := newRig(t, Config{})
	r.feature = []string{"of.tomorrow", protocol.FeatureLive, protocol.FeatureMaxBytes}
	r.change = func(e *protocol.Event) {
		l := protocol.DefaultLimits
		l.SendRooms = rooms
		e.Limits = &l
	}
	r.connect()
	r.out()
	return r
}

// F1, F4: a room is subscribed for sending in the write of its first send, once a connection, and no answer is waited for.
func TestASendSubscribesItsRoomForSending(t *testing.T) {
	r := placed(t, 10)
	r.send("r", "A")
	r.wantOut("place r", "send A")
	r.ack("A")
	r.send("r", "B")
	r.send("q", "X")
	r.wantOut("send B", "place q", "send X")
	r.ack("X")
	r.lose()
	r.reconnect()
	r.wantOut("hello", "status B") // which needs none
	r.refuse("B", protocol.NotFound)
	r.wantOut("place r", "send B")
	if _, ok, _ := r.st.Room(t.Context(), "r"); ok {
		t.Fatal("a room that is only sent to has no view")
	}
}

// F1: at the bound the room least recently sent to is let go, in the same write.
func TestTheLeastRecentlyUsedRoomIsLetGo(t *testing.T) {
	r := placed(t, 2)
	say := func(room, id string, want ...string) {
		t.Helper()
		r.send(room, id)
		r.wantOut(want...)
		r.ack(id)
	}
	say("a", "1", "place a", "send 1")
	say("b", "2", "place b", "send 2")
	say("a", "3", "send 3")
	say("c", "4", "unsubscribe b", "place c", "send 4")
	say("b", "5", "unsubscribe a", "place b", "send 5")
	r = placed(t, 0) // a bound that no server means
	r.send("a", "1")
	r.wantOut("place a", "send 1")
}

// F1, F2: 10,000 sends into 1,000 rooms on a healthy link: no answer but acks, and the window opens in six round trips.
func TestManyRoomsAreSentToAtOnce(t *testing.T) {
	r := newRig(t, Config{Limits: store.Limits{Queued: 20_000}})
	r.feature = protocol.Features()
	for i := range 10_000 {
		r.send(fmt.Sprintf("room%d", i%1000), fmt.Sprint(i))
	}
	subscribed := map[string]bool{}
	var late []Input
	r.onFrame = func(f Frame) {
		switch c := f.Command; {
		case c.SendOnly:
			subscribed[c.Room] = true
		case c.Type == protocol.TypeUnsubscribe:
			delete(subscribed, c.Room)
		case c.Type == protocol.TypeSend && !subscribed[c.Room]:
			t.Fatalf("%s is sent to a room that isn't subscribed", c.ClientMessageID)
		case c.Type == protocol.TypeSend:
			late = append(late, r.acked(c.ClientMessageID))
		}
	}
	r.connect()
	trips := 0
	for ; len(late) > 0; trips++ {
		in := late
		late = nil
		r.now.Mono, r.now.Wall = r.now.Mono+10, r.now.Wall+10
		r.step(in...)
	}
	if left := len(r.rows()); left != 0 || trips > 6+10_000/64+1 {
		t.Fatalf("%d rows left after %d round trips", left, trips)
	}
}

// H6: the app's wish for rows asks anew, with the cursor, where the present or pending subscription is for sending only.
func TestAWishForRowsAsksAnew(t *testing.T) {
	t.Run("for sending", func(t *testing.T) {
		r := placed(t, 10)
		r.send("r", "A")
		r.step(Subscribe{Room: "r", Limit: -1})
		r.wantOut("place r", "send A", "subscribe r")
		r.snapshot("r", 3, msgs("r", 1, 3)...)
		r.wantShown("r", "1..3 @3")
		r.send("q", "X")
		r.ack("A")
		r.out()
		if r.m.places.Len() != 1 {
			t.Fatalf("%d places", r.m.places.Len())
		}
	})
	t.Run("an old server's, pending", func(t *testing.T) {
		r := newRig(t, Config{})
		r.connect()
		r.send("r", "A")
		r.refuse("A", protocol.NotSubscribed)
		r.wantOut("hello", "send A", "subscribe r limit 0")
		old := r.subRef("r")
		r.step(Subscribe{Room: "r", Limit: -1})
		r.wantOut("subscribe r")
		r.step(r.recv(protocol.Event{Type: protocol.TypeSnapshot, Ref: old, Room: "r", Epoch: testEpoch, Head: 3, HeadID: msg("r", 3).MessageID}))
		r.snapshot("r", 3, msgs("r", 1, 3)...)
		r.wantShown("r", "1..3 @3")
		r.wantOut("send A")
	})
	t.Run("an old server's, of a room whose rows are here", func(t *testing.T) {
		r := newRig(t, Config{})
		r.step(Subscribe{Room: "r", Limit: -1})
		r.connect()
		r.snapshot("r", 3, msgs("r", 1, 3)...)
		r.restart()
		r.connect()
		r.send("r", "A")
		r.refuse("A", protocol.NotSubscribed)
		r.wantOut("hello", "send A", "subscribe r limit 0")
		r.snapshot("r", 5)
		r.wantShown("r", "1..3 @3") // a subscription for sending moves no view
		r.step(Subscribe{Room: "r", Limit: -1})
		r.wantOut("send A", "subscribe r@3")
		r.delta("r", 5, false, msgs("r", 4, 5)...)
		r.wantShown("r", "1..5 @5")
	})
}

// F1: a limit that passes goes by the delay law, and the app is told of the second refusal; what it reads live doesn't hold up its sends.
func TestARefusedSubscriptionGoesByTheDelayLaw(t *testing.T) {
	refuse := func(r *rig, ref string, code protocol.Code) {
		r.t.Helper()
		r.step(r.recv(protocol.Event{Type: protocol.TypeError, Ref: ref, Room: "r", Code: code, Retryable: code.Rule().Retryable, RetryAfterMs: 1}))
	}
	t.Run("for sending", func(t *testing.T) {
		for _, code := range []protocol.Code{protocol.RateLimited, protocol.BadRequest, protocol.Unavailable} {
			r := placed(t, 10)
			r.send("r", "A")
			for _, wait := range []int64{1000, 2000, 4000, 8000} {
				r.wantOut("place r", "send A")
				refuse(r, r.subRef("r"), code)
				r.refuse("A", protocol.NotSubscribed) // of the send behind it
				r.quiet(wait - 1)
				r.wantOut()
				r.advance(1)
			}
			if told := eventsOf[RoomDenied](r); len(told) != 3 || told[0].Reason != string(code) || told[2].RetryIn != 8000 {
				t.Fatalf("%s: told %+v", code, told)
			}
			r.ack("A")
			r.send("r", "B")
			r.wantOut("place r", "send A", "send B")
		}
	})
	t.Run("a server that forgets", func(t *testing.T) {
		r := placed(t, 10)
		r.send("r", "A")
		for _, wait := range []int64{0, 1000, 2000} {
			r.wantOut("place r", "send A")
			r.refuse("A", protocol.NotSubscribed)
			r.quiet(max(0, wait-1))
			if wait > 0 {
				r.wantOut()
			}
			r.advance(1)
		}
		r.wantOut("place r", "send A")
	})
	t.Run("live", func(t *testing.T) {
		r := placed(t, 10)
		r.step(Subscribe{Room: "r", Limit: -1})
		r.send("r", "A")
		r.wantOut("subscribe r")
		refuse(r, r.subRef("r"), protocol.RateLimited)
		r.wantOut("place r", "send A")
		r.ack("A")
		r.advance(1000)
		r.wantOut("subscribe r")
		r.send("r", "B")
		r.wantOut("send B") // the place is there whatever the answer
		refuse(r, r.subRef("r"), protocol.RateLimited)
		if told := eventsOf[RoomDenied](r); len(told) != 1 || told[0].Reason != "rate_limited" || told[0].RetryIn != 2000 {
			t.Fatalf("told %+v", told)
		}
	})
	t.Run("an old server's bad_request", func(t *testing.T) {
		r := newRig(t, Config{})
		r.connect()
		frames := 0
		r.onFrame = func(f Frame) {
			switch c := f.Command; c.Type {
			case protocol.TypePing:
				r.again = append(r.again, r.recv(protocol.Event{Type: protocol.TypePong}))
				return
			case protocol.TypeSend:
				r.again = append(r.again, r.refusal(c.ClientMessageID, protocol.NotSubscribed))
			default:
				r.again = append(r.again, r.recv(protocol.Event{Type: protocol.TypeError, Ref: c.Ref, Room: c.Room, Code: protocol.BadRequest}))
			}
			frames++
		}
		for room := range 4 {
			for i := range 20 {
				r.send(fmt.Sprintf("r%d", room), fmt.Sprintf("%d-%d", room, i))
			}
		}
		r.advance(3600_000)
		if told := eventsOf[RoomDenied](r); frames > 1000 || len(told) == 0 || told[0].Reason != "not_subscribed" {
			t.Fatalf("%d frames in an hour, told %+v", frames, told)
		}
	})
	t.Run("an old server's that grants and refuses all the same", func(t *testing.T) {
		r := newRig(t, Config{})
		r.connect()
		r.send("r", "A")
		r.wantOut("hello", "send A")
		r.refuse("A", protocol.NotSubscribed)
		for _, wait := range []int64{0, 0, 1000, 2000} {
			if wait > 0 {
				r.quiet(wait - 1)
				r.wantOut()
				r.advance(1)
			}
			r.wantOut("subscribe r limit 0")
			r.snapshot("r", 0)
			r.wantOut("send A")
			r.refuse("A", protocol.NotSubscribed)
		}
		if told := eventsOf[RoomDenied](r); len(told) != 3 || told[0].Reason != "not_subscribed" || told[2].RetryIn != 4000 {
			t.Fatalf("told %+v", told)
		}
	})
	t.Run("forbidden", func(t *testing.T) {
		r := placed(t, 10)
		r.send("r", "A")
		refuse(r, r.subRef("r"), protocol.Forbidden)
		r.refuse("A", protocol.Forbidden)
		r.wantOut("place r", "send A", "status A")
	})
}
