package session

import (
	"testing"

	"hapax/client/store"
	"hapax/protocol"
)

// H4: an overdue row is asked about at once; that is no attempt, and nothing behind it is taken back.
func TestAnOverdueRowIsAskedAbout(t *testing.T) {
	overdue := func(t *testing.T) *rig {
		r := pipelined(t)
		r.ack("X")
		r.ack("B")
		r.ack("C")
		r.send("r", "D") // follows A, and is younger
		r.advance(5000)
		r.send("r", "E")
		r.out()
		r.advance(5000)
		r.wantOut("ping", "status A", "status D")
		r.step(r.recv(protocol.Event{Type: protocol.TypePong}))
		r.wantRow("r", "A", store.Sending, 1, "")
		r.wantRow("r", "E", store.Sending, 1, "")
		r.send("r", "F")
		r.wantOut() // what the answer means for it must be known first
		return r
	}
	t.Run("ack", func(t *testing.T) {
		r := overdue(t)
		r.ack("A")
		r.ack("D")
		if r.has("r", "A") || r.has("r", "D") {
			t.Fatal("still in the outbox")
		}
		r.wantOut("send F>E")
	})
	t.Run("a late answer", func(t *testing.T) {
		r := overdue(t)
		r.step(r.recv(protocol.Event{Type: protocol.TypeAck, Ref: "late", Room: "r", ClientMessageID: "A", MessageID: "mA", Seq: 9001, Epoch: testEpoch, At: 1}))
		if r.has("r", "A") {
			t.Fatal("a late ack is an ack")
		}
	})
	t.Run("in_progress", func(t *testing.T) {
		r := overdue(t)
		r.refuse("A", protocol.InProgress)
		r.advance(999)
		r.wantOut()
		r.advance(1)
		r.wantOut("status A")
		r.wantRow("r", "A", store.Sending, 1, "")
	})
	t.Run("not_found", func(t *testing.T) {
		r := overdue(t)
		r.refuse("A", protocol.NotFound)
		r.wantRow("r", "E", store.Queued, 0, "") // behind it: no attempt
		r.wantRow("r", "A", store.Sending, 2, "")
		r.wantOut("send A") // its delay, a second, has long passed
	})
	t.Run("outcome_unknown", func(t *testing.T) {
		r := overdue(t)
		r.refuse("A", protocol.OutcomeUnknown)
		r.wantRow("r", "A", store.Uncertain, 1, "outcome_unknown")
	})
	t.Run("unavailable", func(t *testing.T) {
		r := overdue(t)
		r.refuse("A", protocol.Unavailable, 60_000)
		row := r.wantRow("r", "A", store.Queued, 1, "")
		if left := Remaining(row.Schedule, r.now.Wall); left != 60_000 {
			t.Fatalf("waits %d ms", left)
		}
	})
	t.Run("no answer", func(t *testing.T) {
		r := overdue(t)
		r.advance(10_000)
		r.wantRow("r", "A", store.Queued, 1, "")
	})
}

// H4: the deadline is four times the smoothed time of acks, none measured from a repeated id, within 1 to 10 s.
func TestTheDeadlineFollowsTheAcks(t *testing.T) {
	r := newRig(t, Config{})
	r.connect()
	say := func(id string, ms int64) {
		r.send("r", id)
		r.advance(ms)
		r.ack(id)
	}
	deadline := func(want int64) {
		t.Helper()
		if got := r.m.acks.times4(1000, 10_000); got != want {
			t.Fatalf("a deadline of %d ms, want %d", got, want)
		}
	}
	deadline(10_000)
	say("a", 800)
	deadline(3200)
	say("b", 0)
	deadline(2800)
	for _, id := range []string{"c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"} {
		say(id, 0)
	}
	deadline(1000)
	r.send("r", "slow")
	r.advance(1000)
	deadline(1127) // doubled, until one is measured
	r.refuse("slow", protocol.NotFound)
	r.out()
	r.advance(900)
	r.ack("slow") // of an id that left twice
	deadline(1127)
	say("o", 900)
	deadline(1000)
	r.send("r", "late")
	r.advance(1500)
	late := r.acked("late").(Received)
	late.Event.Duplicate = false
	r.step(late) // late, and of an id that left once
	if r.m.acks.mean < 300 {
		t.Fatalf("a mean of %v ms", r.m.acks.mean)
	}
}

// H4: after a restart rows that were in flight are asked about first, whatever their schedule, which holds where the server has none.
func TestARestartAsksFirst(t *testing.T) {
	r := newRig(t, Config{})
	r.connect()
	r.warm()
	r.send("r", "A", "B", "C")
	r.send("q", "X")
	r.refuse("X", protocol.RateLimited, 60_000)
	r.restart()
	r.connect()
	r.wantOut("hello", "status A") // one goes first
	r.ack("A")
	if r.has("r", "A") {
		t.Fatal("not confirmed")
	}
	r.wantOut("status B", "status C")
	r.refuse("B", protocol.NotFound)
	r.refuse("C", protocol.NotFound)
	r.wantOut() // not before its time; X isn't asked about, as it was answered
	r.wantRow("r", "B", store.Queued, 1, "")
	r.advance(999)
	r.wantOut()
	r.advance(1)
	r.wantOut("send B", "send C>B")
	r.wantRow("r", "B", store.Sending, 2, "")
}

// H3, H4: a row lost with its connection is due at once on the next one, once a connection, if the server doesn't have it. Attempts stay.
func TestALostRowIsDueAtOnce(t *testing.T) {
	r := newRig(t, Config{})
	r.connect()
	r.send("r", "A", "B")
	r.ack("A")
	r.out()
	for n := 1; n <= 3; n++ {
		r.wantRow("r", "B", store.Sending, n, "")
		r.lose()
		r.wantRow("r", "B", store.Queued, n, "")
		r.reconnect()
		r.wantOut("hello", "status B")
		r.refuse("B", protocol.NotFound)
		r.wantOut("send B")
	}
	r.refuse("B", protocol.Unavailable)
	r.wantOut()
	r.advance(7000)
	r.wantOut() // a second time on this connection it goes by the delay law
	r.quiet(1000)
	r.wantOut("send B")
}

// A server that said it was going down, and a frame that never left, make no doubt.
func TestNoDoubtWithoutAFrame(t *testing.T) {
	r := pipelined(t)
	r.noWrite = true
	r.send("r", "D")
	r.step(r.recv(protocol.Event{Type: protocol.TypeError, Code: protocol.Draining}))
	r.lose()
	r.noWrite = false
	r.out()
	r.reconnect()
	r.wantOut("hello", "send X")
}
