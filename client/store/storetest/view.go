package storetest

import (
	"hapax/client/store"
	"hapax/protocol"
)

func (s *suite) cursorMovesWithRows() {
	st := s.open()
	fence := s.drain(st)
	early := s.apply(st, fence, store.Rows{Room: "r", From: cursor(0), To: cursor(1), Messages: foreign("r", 1, 1)})
	equal(s, "rows without a view", early.Applied, false)
	equal(s, "its cursor", early.Cursor, protocol.Cursor{})
	s.apply(st, fence, store.Snapshot{Room: "r", Cursor: cursor(0)})
	s.apply(st, fence, store.Snapshot{Room: "s", Cursor: cursor(0)})
	res := s.apply(st, fence, store.Rows{Room: "r", From: cursor(0), To: cursor(3), Messages: foreign("r", 1, 3)})
	equal(s, "applied", res.Applied, true)
	equal(s, "cursor", res.Cursor, cursor(3))
	// A second delta that read the old cursor, as after a slow page, moves nothing.
	res = s.apply(st, fence, store.Rows{Room: "r", From: cursor(0), To: cursor(2), Messages: foreign("r", 1, 2)})
	equal(s, "applied twice", res.Applied, false)
	equal(s, "cursor as it is", res.Cursor, cursor(3))
	res = s.apply(st, fence, store.Rows{Room: "r", From: cursor(3), To: cursor(3)})
	equal(s, "empty delta", res.Applied, true)
	s.apply(st, fence, store.Rows{Room: "s", From: cursor(0), To: cursor(1), Messages: foreign("s", 1, 1)})
	s.apply(st, fence, store.Rows{Room: "r", From: cursor(3), To: cursor(4), Messages: foreign("r", 4, 4)})

	again := s.openOn(s.medium.Crashed(), store.Limits{})
	equal(s, "feed", s.feed(again, "", 0), "1@3 2@4 3@5 1@6 4@7 ")
	equal(s, "feed of r after 4", s.feed(again, "r", 4), "3@5 4@7 ")
	page, _, err := again.Feed(s.ctx, "", 3, 2)
	s.ok(err)
	equal(s, "page", seqs(page), "2@4 3@5 ")
	equal(s, "whole row", page[0].Message.Text, "row 2")
	view, err := again.View(s.ctx, "r", 4, 2)
	s.ok(err)
	equal(s, "view before 4", seqs(view), "2@4 3@5 ")
	r, ok, err := again.Room(s.ctx, "r")
	s.ok(err)
	equal(s, "held", ok, true)
	equal(s, "room", r, store.Room{Room: "r", Cursor: cursor(4), Replaced: 1})
	rooms, err := again.Rooms(s.ctx)
	s.ok(err)
	equal(s, "rooms", len(rooms), 2)
	equal(s, "second", rooms[1], store.Room{Room: "s", Cursor: cursor(1), Replaced: 2})
}

// ackAhead: an ack tells of row 3 while the cursor is at 1. It shows in the view, and comes through the feed in its order.
func (s *suite) ackAhead() {
	st := s.open()
	fence := s.drain(st)
	row := s.add(st, entry("r", 1))[0]
	s.apply(st, fence, store.Snapshot{Room: "r", Cursor: cursor(1), Messages: foreign("r", 1, 1)})
	res := s.apply(st, fence, confirm(row, 3))
	equal(s, "confirmed", res.Applied, true)
	equal(s, "row", res.Row, row)
	r, _, err := st.Room(s.ctx, "r")
	s.ok(err)
	equal(s, "cursor after an ack", r.Cursor, cursor(1))
	equal(s, "view", s.view(st, "r"), "1@2 3@0 ")
	equal(s, "feed", s.feed(st, "r", 0), "1@2 ")
	s.apply(st, fence, store.Rows{
		Room: "r", From: cursor(1), To: cursor(3), Now: 9000, Messages: append(foreign("r", 2, 2), own(entry("r", 1), 3)),
	})
	equal(s, "view", s.view(st, "r"), "1@2 2@3 3@4 ")
	equal(s, "feed", s.feed(st, "r", 2), "2@3 3@4 ")
	// A duplicate's ack comes after its row: nothing doubles.
	again := s.add(st, entry("r", 1))[0]
	s.apply(st, fence, confirm(again, 3))
	equal(s, "view after a late ack", s.view(st, "r"), "1@2 2@3 3@4 ")
}

func (s *suite) snapshotReplaces() {
	st := s.open()
	fence := s.drain(st)
	rows := s.add(st, entry("r", 1), entry("r", 2))
	s.apply(st, fence, store.Snapshot{Room: "r", Cursor: cursor(3), Messages: foreign("r", 1, 3)})
	s.apply(st, fence, confirm(rows[0], 5))
	s.apply(st, fence, confirm(rows[1], 9))
	equal(s, "view", s.view(st, "r"), "1@2 2@3 3@4 5@0 9@0 ")
	res := s.apply(st, fence, store.Snapshot{Room: "r", Cursor: cursor(6), Messages: foreign("r", 3, 6)})
	equal(s, "cursor", res.Cursor, cursor(6))
	// 3 keeps its place, 5 gets one, 9 lies beyond the head and stays.
	equal(s, "view", s.view(st, "r"), "3@4 4@6 5@7 6@8 9@0 ")
	equal(s, "feed after 4", s.feed(st, "r", 4), "4@6 5@7 6@8 ")
	r, _, err := st.Room(s.ctx, "r")
	s.ok(err)
	equal(s, "replaced", r.Replaced, 5)

	// Another history: what isn't in it goes, also beyond its head; what is in it is not shown anew.
	other := foreign("r", 4, 4)
	other[0].Epoch = "f"
	s.apply(st, fence, store.Snapshot{Room: "r", Cursor: protocol.Cursor{Epoch: "f", After: 4, MessageID: messageID(4)}, Messages: other})
	equal(s, "view", s.view(st, "r"), "4@6 ")
	s.apply(st, fence, store.Snapshot{Room: "r", Cursor: cursor(900)}) // only sending: no rows asked for
	equal(s, "empty view", s.view(st, "r"), "")
}

func (s *suite) ownRowsSettle() {
	st := s.open()
	fence := s.drain(st)
	e1, e2, e3 := entry("r", 1), entry("r", 2), entry("r", 3)
	rows := s.add(st, e1, e2, e3)
	s.apply(st, fence, store.Step{Position: rows[2].Position, Revision: 1, To: store.Uncertain, AsideAt: 1})
	elsewhere := s.add(st, entry("s", 1))[0]
	other := own(e2, 2)
	other.Fingerprint = "v1:other"
	res := s.apply(st, fence, store.Snapshot{
		Room: "r", Cursor: cursor(3), Now: 9500, Messages: []store.Arrived{own(e1, 1), other, own(e3, 3)},
	})
	equal(s, "confirmed", len(res.Confirmed), 2)
	equal(s, "first", res.Confirmed[0], rows[0])
	equal(s, "in every state", res.Confirmed[1].State, store.Uncertain)
	equal(s, "conflicts", len(res.Conflicts), 1)
	parked := res.Conflicts[0]
	equal(s, "state", parked.State, store.Parked)
	equal(s, "reason", parked.Reason, store.ReasonConflict)
	equal(s, "since", parked.AsideAt, 9500)
	left := s.list(st)
	equal(s, "left", len(left), 2)
	equal(s, "parked", left[0], parked)
	equal(s, "same id in another room", left[1], elsewhere)
	b, err := st.Body(s.ctx, parked.Position)
	s.ok(err)
	equal(s, "its text is kept", b.Text, e2.Text)
	res = s.apply(st, fence, store.Rows{Room: "r", From: cursor(3), To: cursor(3)})
	equal(s, "conflicts of an empty delta", len(res.Conflicts), 0)
	// Told of it again, it stays as it is.
	res = s.apply(st, fence, store.Snapshot{Room: "r", Cursor: cursor(2), Now: 9600, Messages: []store.Arrived{other}})
	equal(s, "conflicts again", len(res.Conflicts), 0)
	equal(s, "parked as it was", s.list(st)[0], parked)
}

func (s *suite) forget() {
	st := s.open()
	fence := s.drain(st)
	row := s.add(st, entry("r", 1))[0]
	for _, room := range []string{"r", "s"} {
		s.apply(st, fence, store.Snapshot{Room: room, Cursor: cursor(2), Messages: foreign(room, 1, 2)})
	}
	s.ok(st.Forget(s.ctx, "r"))
	s.ok(st.Forget(s.ctx, "none"))
	_, ok, err := st.Room(s.ctx, "r")
	s.ok(err)
	equal(s, "cursor held", ok, false)
	equal(s, "rows", s.view(st, "r"), "")
	equal(s, "feed", s.feed(st, "", 0), "1@5 2@6 ")
	equal(s, "outbox", s.list(st)[0], row)
	s.apply(st, fence, store.Snapshot{Room: "r", Cursor: cursor(1), Messages: foreign("r", 1, 1)})
	equal(s, "positions go on", s.feed(st, "r", 0), "1@8 ")
}

func (s *suite) changesOfOthers() {
	a, b := s.open(), s.open()
	changed := func(st store.Store, want bool) {
		s.Helper()
		got, err := st.Changed(s.ctx)
		s.ok(err)
		equal(s, "changed", got, want)
	}
	changed(a, false)
	s.add(a, entry("r", 1))
	changed(a, false) // its own
	changed(b, true)
	changed(b, false)
	_, err := b.Discard(s.ctx, entry("r", 1).Key)
	s.ok(err)
	changed(a, true)
	changed(b, false)
}

func (s *suite) closed() {
	st := s.open()
	ctx, end := s.ended()
	_, err := st.Add(ctx, 0, []store.Entry{entry("r", 1)})
	s.is(err, end)
	equal(s, "rows", len(s.list(st)), 0)
	s.drain(st)
	s.ok(st.Close())
	s.ok(st.Close())
	k := entry("r", 1).Key
	for i, f := range []func() error{
		func() error { _, err := st.Owner(s.ctx); return err },
		func() error { return st.Bind(s.ctx, store.Owner{Actor: "a", Server: "s"}) },
		func() error { _, err := st.Reserve(s.ctx, st.Device(), 1, 0); return err },
		func() error { _, err := st.Add(s.ctx, 0, []store.Entry{entry("r", 1)}); return err },
		func() error { _, err := st.List(s.ctx, 0, 1); return err },
		func() error { _, _, err := st.Find(s.ctx, k); return err },
		func() error { _, err := st.Body(s.ctx, 1); return err },
		func() error { return st.Export(s.ctx, nil) },
		func() error { return st.SetAside(s.ctx, nil) },
		func() error { _, err := st.Counts(s.ctx); return err },
		func() error { _, err := st.Cancel(s.ctx, k); return err },
		func() error { _, err := st.Retry(s.ctx, k, 1); return err },
		func() error { _, err := st.Discard(s.ctx, k); return err },
		func() error { _, err := st.Drain(s.ctx); return err },
		func() error { return st.Undrain(s.ctx) },
		func() error { _, err := st.Apply(s.ctx, 1, nil); return err },
		func() error { _, err := st.Evict(s.ctx, 1, 1); return err },
		func() error { _, err := st.Changed(s.ctx); return err },
		func() error { _, _, err := st.Room(s.ctx, "r"); return err },
		func() error { _, err := st.Rooms(s.ctx); return err },
		func() error { _, _, err := st.Feed(s.ctx, "", 0, 1); return err },
		func() error { _, err := st.View(s.ctx, "r", 0, 1); return err },
		func() error { return st.Forget(s.ctx, "r") },
	} {
		if err := f(); err == nil {
			s.Fatalf("call %d went through", i)
		} else {
			s.is(err, store.ErrClosed)
		}
	}
}
