package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

func firstDuplicateConflict(t *testing.T, p Place) {
	k := open(t, p)
	a := Send("r", "ann", "A", "hello")
	first := k.send(Start, room.Accepted, a).Result
	if first.Seq != 1 || first.At != Start || first.MessageID == "" || first.Epoch != k.s.Identity().Epoch || first.Fingerprint != a.Fingerprint {
		t.Fatalf("first: %+v", first)
	}
	if again := k.send(Start+5, room.Duplicate, a).Result; again != first {
		t.Fatalf("duplicate %+v, want %+v", again, first)
	}
	if other := k.send(Start+6, room.Conflict, Send("r", "ann", "A", "other")).Result; other != first {
		t.Fatalf("conflict names %+v, want %+v", other, first)
	}
	if res, known := k.result(a.Key); !known || res != first {
		t.Fatalf("result %+v %v, want %+v", res, known, first)
	}
	rows := k.rows("r")
	want := room.Message{Seq: 1, MessageID: first.MessageID, Actor: "ann", ID: "A", Text: "hello", At: Start}
	if len(rows) != 1 || fmt.Sprintf("%+v", rows[0]) != fmt.Sprintf("%+v", want) {
		t.Fatalf("rows %+v, want %+v", rows, want)
	}
	if st := k.state("r"); st != (room.State{Head: 1, HeadID: first.MessageID}) {
		t.Fatalf("state %+v", st)
	}
}

// oneBatchJudgedInOrder is case R08: old, new, the old again, a conflict; and a new one twice in one batch.
func oneBatchJudgedInOrder(t *testing.T, p Place) {
	k := open(t, p)
	a, b := Send("r", "ann", "A", "a"), Send("r", "ann", "B", "b")
	first := k.send(Start, room.Accepted, a).Result
	out := k.commit(Start+1, a, b, a, Send("r", "ann", "B", "changed"), b, Send("r", "ann", "C", "c"))
	want := []room.Kind{room.Duplicate, room.Accepted, room.Duplicate, room.Conflict, room.Duplicate, room.Accepted}
	for i, o := range out {
		if o.Kind != want[i] {
			t.Fatalf("outcome %d: %v, want %v", i, o.Kind, want[i])
		}
	}
	if out[0].Result != first || out[2].Result != first || out[3].Result != out[1].Result || out[4].Result != out[1].Result {
		t.Fatalf("originals differ: %+v", out)
	}
	if out[1].Result.Seq != 2 || out[5].Result.Seq != 3 {
		t.Fatalf("seqs %d, %d", out[1].Result.Seq, out[5].Result.Seq)
	}
	k.seqs("r", 1, 2, 3)
}

func follows(t *testing.T, p Place) {
	k := open(t, p)
	after := func(id, prior string) room.Command {
		c := Send("r", "ann", id, id)
		c.Follows = prior
		return c
	}
	k.send(Start, room.OutOfOrder, after("B", "A"))
	k.seqs("r")
	out := k.commit(Start, after("B", "A"), Send("r", "ann", "A", "A"), after("C", "A"), after("D", "C"))
	if out[0].Kind != room.OutOfOrder || out[1].Kind != room.Accepted || out[2].Kind != room.Accepted || out[3].Kind != room.Accepted {
		t.Fatalf("behind one's own first, ahead, behind a follower: %v", out)
	}
	k.send(Start, room.Accepted, after("B", "A")) // stored by an earlier commit
	bob := Send("r", "bob", "X", "x")
	bob.Follows = "A"
	k.send(Start, room.OutOfOrder, bob) // another actor's A
	elsewhere := Send("q", "ann", "Y", "y")
	elsewhere.Follows = "A"
	k.send(Start, room.OutOfOrder, elsewhere) // another room's A
}

// keysAreThreeColumns is case R27, and R10: no two keys are one because their parts run together.
func keysAreThreeColumns(t *testing.T, p Place) {
	k := open(t, p)
	keys := []idem.Key{
		{Room: "a_b", Actor: "u", ID: "c"}, {Room: "a", Actor: "u", ID: "b_c"},
		{Room: "a", Actor: "u_b", ID: "c"}, {Room: "a", Actor: "ub", ID: "c"}, {Room: "a", Actor: "u", ID: "bc"},
		{Room: "au", Actor: "b", ID: "c"}, {Room: "a", Actor: "", ID: "ubc"}, {Room: "a", Actor: "u:b", ID: "c"},
		{Room: "a", Actor: strings.Repeat("x", 300), ID: "c"}, {Room: "a", Actor: strings.Repeat("x", 299), ID: "xc"},
	}
	for _, key := range keys {
		k.send(Start, room.Accepted, Send(key.Room, key.Actor, key.ID, fmt.Sprint(key)))
	}
	k.reopen()
	for _, key := range keys {
		k.send(Start, room.Duplicate, Send(key.Room, key.Actor, key.ID, fmt.Sprint(key)))
	}
}

func oddNames(t *testing.T, p Place) {
	k := open(t, p)
	names := []string{
		"ä", "a\u0308", "日本語", "👋🏽", " ", "A", "a", "a/b", "...", "%00", "m", "\U0010FFFF",
		strings.Repeat("é", 64), strings.Repeat("x", 128), strings.Repeat("x", 127),
	}
	for i, name := range names {
		for range i%3 + 1 {
			st := k.state(name)
			k.send(Start, room.Accepted, Send(name, name, fmt.Sprintf("i%d", st.Head), name))
		}
	}
	k.reopen()
	for i, name := range names {
		if st := k.state(name); st.Head != int64(i%3+1) {
			t.Fatalf("room %q has head %d, want %d", name, st.Head, i%3+1)
		}
		for _, m := range k.rows(name) {
			if m.Text != name || m.Actor != name {
				t.Fatalf("room %q holds %+v", name, m)
			}
		}
	}
}

func buffersAreNotShared(t *testing.T, p Place) {
	k := open(t, p)
	c := Send("r", "ann", "A", "a")
	c.Data = []byte(`{"n":1}`)
	none := Send("r", "ann", "B", "b")
	none.Data = []byte{}
	k.commit(Start, c, none)
	copy(c.Data, `{"n":9}`)
	rows := k.rows("r")
	copy(rows[0].Data, `{"n":8}`)
	if rows = k.rows("r"); !bytes.Equal(rows[0].Data, []byte(`{"n":1}`)) || rows[1].Data != nil {
		t.Fatalf("data %q, %q", rows[0].Data, rows[1].Data)
	}
}

// oneLastSeq is case R22: seqs are exact up to 2^53 − 1, and end there.
func oneLastSeq(t *testing.T, p Place) {
	p.Plant(t, "r", room.MaxSeq-2, "planted")
	k := open(t, p)
	if st := k.state("r"); st.Head != room.MaxSeq-2 || st.HeadID != "planted" || st.LowID != "planted" {
		t.Fatalf("planted %+v", st)
	}
	generous := func(room.Facts, *room.Command) room.Outcome { return room.Outcome{Kind: room.Accepted} }
	out, err := k.s.Commit(t.Context(), &store.Batch{Now: Start, Judge: generous, Commands: []room.Command{
		Send("r", "ann", "A", "a"), Send("r", "ann", "B", "b"), Send("r", "ann", "C", "c"),
	}})
	if err != nil || out[0].Result.Seq != room.MaxSeq-1 || out[1].Result.Seq != room.MaxSeq || out[2].Kind != room.Full {
		t.Fatalf("%+v, %v", out, err)
	}
	k.reopen()
	k.send(Start, room.Full, Send("r", "ann", "D", "d"))
	k.send(Start, room.Duplicate, Send("r", "ann", "B", "b"))
	k.seqs("r", room.MaxSeq-1, room.MaxSeq)
	if _, known := k.result(idem.Key{Room: "r", Actor: "ann", ID: "C"}); known {
		t.Fatal("a send that found the room full left a result")
	}
}

func messageIDsNeverTwice(t *testing.T, p Place) {
	k := open(t, p)
	seen := map[string]bool{}
	for life := range 3 {
		for i := range 40 {
			id := k.send(Start, room.Accepted, Send(fmt.Sprint(i%4), "ann", fmt.Sprint(life, "-", i), "x")).Result.MessageID
			if seen[id] || id == "" {
				t.Fatalf("messageId %q given twice", id)
			}
			seen[id] = true
		}
		k.reopen()
	}
}

func reopenKeepsAll(t *testing.T, p Place) {
	k := open(t, p)
	before := k.s.Identity()
	if before.Server == "" || before.Epoch == "" || before.Server == before.Epoch {
		t.Fatalf("identity %+v", before)
	}
	k.fill("r", 0, 5, Start)
	k.fill("q", 0, 2, Start)
	rows, state := fmt.Sprint(k.rows("r")), k.state("r")
	k.reopen()
	if k.s.Identity() != before {
		t.Fatalf("identity %+v, was %+v", k.s.Identity(), before)
	}
	if got := fmt.Sprint(k.rows("r")); got != rows || k.state("r") != state {
		t.Fatalf("rows %s, were %s", got, rows)
	}
	k.send(Start, room.Duplicate, Send("r", "ann", "id-3", "text 3"))
	k.fill("r", 5, 1, Start)
	k.seqs("r", 1, 2, 3, 4, 5, 6)
}

func nothingAcceptedNothingChanged(t *testing.T, p Place) {
	k := open(t, p)
	refuse := func(room.Facts, *room.Command) room.Outcome {
		return room.Outcome{Kind: room.RateLimited, RetryAfterMs: 7}
	}
	out, err := k.s.Commit(t.Context(), &store.Batch{Now: Start, Judge: refuse, Commands: []room.Command{Send("r", "ann", "A", "a")}})
	if err != nil || out[0].Kind != room.RateLimited || out[0].RetryAfterMs != 7 {
		t.Fatalf("%+v, %v", out, err)
	}
	if out := k.commit(Start); len(out) != 0 {
		t.Fatalf("an empty batch has outcomes: %v", out)
	}
	k.view(func(v store.View) {
		if heads := must(v.Rooms("", 10))(t); len(heads) != 0 {
			t.Fatalf("rooms %v", heads)
		}
	})
	if st := must(k.s.Stats(t.Context()))(t); st.Rooms != 0 || st.Messages != 0 || st.Results != 0 {
		t.Fatalf("stats %+v", st)
	}
	k.fill("r", 0, 3, Start)
	if st := must(k.s.Stats(t.Context()))(t); st.Rooms != 1 || st.Messages != 3 || st.Results != 3 {
		t.Fatalf("stats %+v", st)
	}
}
