package session

import (
	"testing"

	"hapax/client/store"
	"hapax/protocol"
)

// pipelined returns a rig with rows A, B, C of one room in flight, and X of another.
func pipelined(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, Config{AnswerLeast: 10_000})
	r.connect()
	r.warm()
	r.send("r", "A", "B", "C")
	r.send("q", "X")
	r.out()
	return r
}

func TestPipelineNamesTheRowBefore(t *testing.T) {
	r := newRig(t, Config{})
	r.connect()
	r.send("r", "A")
	r.wantOut("hello", "send A")
	r.send("r", "B") // one row goes first after a connect
	r.wantOut()
	r.ack("A")
	r.wantOut("send B")
	r.send("r", "C", "D")
	r.wantOut("send C>B") // then two
	r.ack("C")            // whatever the order of acks
	r.wantOut("send D>B")
	r.ack("B")
	r.send("r", "E")
	r.wantOut("send E>D")
}

// The lines of the table of docs/spec/client.md, 3, each for the first of three pipelined rows. None overtakes (C15).
func TestTableOfOutcomes(t *testing.T) {
	type want struct {
		state    store.State // of A, 0 where it left the outbox
		attempts int
		reason   string
		next     []string // frames at once
	}
	for name, tc := range map[string]struct {
		code protocol.Code
		want
	}{
		"unavailable":     {protocol.Unavailable, want{store.Queued, 1, "", nil}},
		"rate_limited":    {protocol.RateLimited, want{store.Queued, 1, "", nil}},
		"in_progress":     {protocol.InProgress, want{store.Queued, 1, "", nil}},
		"draining":        {protocol.Draining, want{store.Queued, 1, "", nil}},
		"too_large":       {protocol.TooLarge, want{store.Parked, 1, "too_large", []string{"send B", "send C>B"}}},
		"bad_request":     {protocol.BadRequest, want{store.Parked, 1, "bad_request", []string{"send B", "send C>B"}}},
		"id_conflict":     {protocol.IDConflict, want{store.Parked, 1, "id_conflict", []string{"send B", "send C>B"}}},
		"outcome_unknown": {protocol.OutcomeUnknown, want{store.Uncertain, 1, "outcome_unknown", []string{"send B", "send C>B"}}},
		"forbidden":       {protocol.Forbidden, want{store.Queued, 1, "", []string{"status A"}}},
		"session_invalid": {protocol.SessionInvalid, want{store.Queued, 0, "", nil}},
		"not_subscribed":  {protocol.NotSubscribed, want{store.Queued, 0, "", []string{"subscribe r limit 0"}}},
		"unknown, final":  {"strange", want{store.Parked, 1, "strange", []string{"send B", "send C>B"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := pipelined(t)
			r.refuse("A", tc.code)
			r.wantRow("r", "A", tc.state, tc.attempts, tc.reason)
			got := r.out()
			r.advance(200)
			got = append(got, r.out()...)
			if len(got) != len(tc.next) {
				t.Fatalf("frames %q, want %q", got, tc.next)
			}
			for i := range got {
				if got[i] != tc.next[i] {
					t.Fatalf("frames %q, want %q", got, tc.next)
				}
			}
			if len(tc.next) < 2 { // B and C wait behind A, without an attempt
				r.wantRow("r", "B", store.Queued, 0, "")
				r.wantRow("r", "C", store.Queued, 0, "")
			}
			r.wantRow("q", "X", store.Sending, 1, "") // other rooms go on
			r.ack("X")
			r.ack("A") // in every state, parked and uncertain too
			if r.has("r", "A") {
				t.Fatal("an ack didn't confirm the row")
			}
		})
	}
}

func TestUnknownCodeGoesByRetryable(t *testing.T) {
	r := pipelined(t)
	e := r.refusal("A", "strange").(Received)
	e.Event.Retryable = true
	r.step(e)
	r.wantRow("r", "A", store.Queued, 1, "")
}

func TestAckStoresMessageAndDeletesRow(t *testing.T) {
	r := pipelined(t)
	r.ack("A")
	if r.has("r", "A") {
		t.Fatal("the row is still there")
	}
	msgs, err := r.st.View(t.Context(), "r", 0, 10)
	r.ok(err)
	if len(msgs) != 1 || msgs[0].Text != "A" || msgs[0].Seq != seqs || msgs[0].Actor != testActor {
		t.Fatalf("view %+v", msgs)
	}
	if got := eventsOf[RowConfirmed](r); len(got) != 64 || got[63].Key.ID != "A" || got[63].Seq != seqs {
		t.Fatalf("events %+v", got[len(got)-1])
	}
	r.ack("A") // a second ack of one id is harmless
}

func TestRetryAfterIsALowerBoundAndBelievedForAnHour(t *testing.T) {
	r := pipelined(t)
	r.refuse("A", protocol.RateLimited, 30_000)
	r.ack("X")
	r.advance(29_900)
	r.wantOut("ping") // after 25 s
	r.step(r.recv(protocol.Event{Type: protocol.TypePong}))
	r.advance(120)
	r.wantOut("send A", "send B>A", "send C>B")
	r.refuse("A", protocol.Unavailable, 48*3600_000)
	row := r.wantRow("r", "A", store.Queued, 2, "")
	if left := Remaining(row.Schedule, r.now.Wall); left != 3600_000 {
		t.Fatalf("interval %d after two days of retryAfterMs", row.Interval)
	}
}

// A retryable answer never parks, however often it comes.
func TestRetryableNeverParks(t *testing.T) {
	r := newRig(t, Config{})
	r.connect()
	r.send("r", "A")
	for range 40 {
		r.refuse("A", protocol.Unavailable)
		row := r.row("r", "A")
		if row.State != store.Queued || row.Attempts > 12 {
			t.Fatalf("row %+v", row)
		}
		r.quiet(row.Interval)
	}
	if r.m.Stats().Parked != 0 || r.m.Stats().Retryable != 40 {
		t.Fatalf("stats %+v", r.m.Stats())
	}
}

func TestOutOfOrderWaitsForTheRowItNamed(t *testing.T) {
	r := pipelined(t)
	r.refuse("B", protocol.OutOfOrder)
	r.wantRow("r", "B", store.Queued, 0, "")
	r.advance(1000)
	r.wantOut() // A is still out
	r.ack("A")
	r.advance(200)
	r.wantOut("send B", "send C>B")
	// Without a row ahead of it the server's answer makes no sense: it slows the row instead of being asked again at once.
	r.refuse("B", protocol.OutOfOrder)
	r.wantRow("r", "B", store.Queued, 1, "")
	r.wantOut()
}

func TestFramesNotWrittenAreNoAttempt(t *testing.T) {
	r := pipelined(t)
	r.noWrite = true
	r.send("z", "Z")
	r.wantRow("z", "Z", store.Sending, 1, "")
	r.advance(5_000) // unanswered because unwritten
	r.wantRow("z", "Z", store.Sending, 1, "")
	r.lose()
	row := r.wantRow("z", "Z", store.Queued, 0, "")
	if row.FirstSentAt == 0 || row.Interval != 0 || row.LastAttemptAt != 0 {
		t.Fatalf("put back as %+v", row)
	}
	for _, id := range []string{"B", "C"} {
		if row := r.row("r", id); row.Attempts > 1 {
			t.Fatalf("row %+v", row)
		}
	}
}

func TestLossAfterWritingIsAnAttempt(t *testing.T) {
	r := pipelined(t)
	r.lose()
	for _, id := range []string{"A", "B", "C"} {
		r.wantRow("r", id, store.Queued, 1, "")
	}
	r.wantRow("q", "X", store.Queued, 1, "")
}

func TestDrainingBeforeTheCloseIsNoAttempt(t *testing.T) {
	r := pipelined(t)
	r.step(r.recv(protocol.Event{Type: protocol.TypeError, Code: protocol.Draining, RetryAfterMs: 7000}))
	r.send("n", "N")
	r.wantOut() // nothing new to a server that goes away
	r.ack("A")  // answers still count
	r.lose()
	r.wantRow("r", "B", store.Queued, 0, "")
	r.wantRow("q", "X", store.Queued, 0, "")
	if wait := r.wake - r.now.Mono; wait < 7000 || wait > 10_500 {
		t.Fatalf("comes back after %d ms", wait)
	}
}
