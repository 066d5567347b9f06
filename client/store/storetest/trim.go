package storetest

import (
	"strings"

	"hapax/client/store"
)

// trimmedOf tells what Feed says was dropped behind a position.
func (s *suite) trimmedOf(st store.Store, room string, after int64) (trimmed []store.Trimmed) {
	s.Helper()
	_, trimmed, err := st.Feed(s.ctx, room, after, 1000)
	s.ok(err)
	return trimmed
}

// roomBound: the newest rows stay, and whoever reads from before those that went is told their seqs, however often they are asked for.
func (s *suite) roomBound() {
	st := s.openOn(s.medium, store.Limits{RoomRows: 3, RoomBytes: -1})
	fence := s.drain(st)
	s.apply(st, fence, store.Snapshot{Room: "r", Cursor: cursor(0)}) // position 1
	s.apply(st, fence, store.Snapshot{Room: "s", Cursor: cursor(0)}) // 2
	s.apply(st, fence, store.Rows{Room: "s", From: cursor(0), To: cursor(1), Messages: foreign("s", 1, 1)})
	s.apply(st, fence, store.Rows{Room: "r", From: cursor(0), To: cursor(3), Messages: foreign("r", 1, 3)})
	equal(s, "nothing dropped yet", len(s.trimmedOf(st, "", 0)), 0)
	s.apply(st, fence, store.Rows{Room: "r", From: cursor(3), To: cursor(5), Messages: foreign("r", 4, 5)})
	equal(s, "feed", s.feed(st, "r", 0), "3@6 4@7 5@8 ")
	equal(s, "another room", s.feed(st, "s", 0), "1@3 ")
	want := store.Trimmed{Room: "r", Position: 5, From: 1, To: 2}
	for _, room := range []string{"", "r"} {
		equal(s, "rooms", len(s.trimmedOf(st, room, 0)), 1)
		equal(s, "dropped", s.trimmedOf(st, room, 4)[0], want)
		equal(s, "read before it was dropped", len(s.trimmedOf(st, room, 5)), 0)
	}
	equal(s, "asked for another room", len(s.trimmedOf(st, "s", 0)), 0)
	s.apply(st, fence, store.Rows{Room: "r", From: cursor(5), To: cursor(15), Messages: foreign("r", 6, 15)})
	want = store.Trimmed{Room: "r", Position: 15, From: 1, To: 12}
	again := s.openOn(s.medium.Crashed(), store.Limits{RoomRows: 3, RoomBytes: -1})
	equal(s, "after a crash", s.trimmedOf(again, "r", 0)[0], want)
	r, _, err := again.Room(s.ctx, "r")
	s.ok(err)
	equal(s, "the room", r, store.Room{Room: "r", Cursor: cursor(15), Replaced: 1, Trimmed: want})

	s.apply(st, fence, store.Snapshot{Room: "r", Cursor: cursor(20), Messages: foreign("r", 16, 20)})
	equal(s, "a snapshot", s.view(st, "r"), "18@22 19@23 20@24 ")
	equal(s, "dropped of it", s.trimmedOf(st, "r", 0)[0], store.Trimmed{Room: "r", Position: 21, From: 16, To: 17})
	s.ok(st.Forget(s.ctx, "r"))
	equal(s, "forgotten", len(s.trimmedOf(st, "", 0)), 0)

	heavy := s.openOn(s.empty(s), store.Limits{RoomRows: -1, RoomBytes: 5000})
	fence = s.drain(heavy)
	rows := foreign("r", 1, 8)
	for i := range rows {
		rows[i].Text = strings.Repeat("x", 1000)
	}
	s.apply(heavy, fence, store.Snapshot{Room: "r", Cursor: cursor(0)})
	s.apply(heavy, fence, store.Rows{Room: "r", From: cursor(0), To: cursor(8), Messages: rows})
	if n := len(s.trimmedOf(heavy, "r", 0)); n != 1 {
		s.Fatalf("%d rooms above 5,000 bytes", n)
	}
	kept, err := heavy.View(s.ctx, "r", 0, 100)
	s.ok(err)
	if len(kept) < 2 || len(kept) > 4 || kept[len(kept)-1].Seq != 8 {
		s.Fatalf("%s kept within 5,000 bytes", seqs(kept))
	}
}

// roomBoundOfAcks: rows that acks alone told of have no place in the feed; the oldest go without anybody missing them.
func (s *suite) roomBoundOfAcks() {
	st := s.openOn(s.medium, store.Limits{RoomRows: 3, RoomBytes: -1})
	fence := s.drain(st)
	for n := range 6 {
		row := s.add(st, entry("q", n+1))[0]
		s.apply(st, fence, confirm(row, int64(n+1)))
	}
	equal(s, "kept", s.view(st, "q"), "4@0 5@0 6@0 ")
	equal(s, "nothing was in the feed", len(s.trimmedOf(st, "", 0)), 0)
}

// receipts: what the server made of a row is known however the row ended as confirmed, and whether or not its message is held.
func (s *suite) receipts() {
	st := s.openOn(s.medium, store.Limits{RoomRows: 2, Receipts: 5})
	fence := s.drain(st)
	is := func(st store.Store, e store.Entry, seq int64) {
		s.Helper()
		r, ok, err := st.Receipt(s.ctx, e.Key)
		s.ok(err)
		if ok != (seq > 0) || ok && (r.Seq != seq || r.MessageID != messageID(seq) || r.Epoch != "e") {
			s.Fatalf("receipt of %s: %+v, %v, want that of seq %d", e.ID, r, ok, seq)
		}
	}
	for n := range 6 {
		e := entry("q", n+1)
		is(st, e, 0)
		s.apply(st, fence, confirm(s.add(st, e)[0], int64(n+1)))
		is(st, e, int64(n+1))
	}
	is(st, entry("q", 1), 0) // too many after it
	is(st, entry("q", 2), 2) // its message is held no more
	own1 := own(entry("r", 7), 1)
	s.add(st, entry("r", 7))
	s.apply(st, fence, store.Snapshot{Room: "r", Cursor: cursor(1), Messages: []store.Arrived{own1}, Now: 1})
	is(s.openOn(s.medium.Crashed(), store.Limits{}), entry("r", 7), 1)
	s.ok(st.Forget(s.ctx, "r"))
	is(st, entry("r", 7), 1)
	s.add(st, entry("r", 8))
	_, err := st.Discard(s.ctx, entry("r", 8).Key)
	s.ok(err)
	is(st, entry("r", 8), 0)
}
