package storetest

import (
	"errors"
	"slices"

	"hapax/client/ids"
	"hapax/client/store"
)

func (s *suite) rowsOutliveCrash() {
	st := s.open()
	s.add(st, entry("r", 1), entry("r", 2), entry("s", 3))
	again := s.openOn(s.medium.Crashed(), store.Limits{})
	s.add(again, entry("r", 4), entry("s", 5), entry("r", 6))
	rows := s.list(again)
	equal(s, "rows", len(rows), 6)
	for i, r := range rows {
		want := entry(r.Room, i+1)
		equal(s, "key", r.Key, want.Key)
		equal(s, "fingerprint", r.Fingerprint, want.Fingerprint)
		equal(s, "size", r.Size, len(want.Text)+len(want.Data))
		equal(s, "queued at", r.QueuedAt, want.QueuedAt)
		b, err := again.Body(s.ctx, r.Position)
		s.ok(err)
		equal(s, "text", b.Text, want.Text)
		equal(s, "data", string(b.Data), string(want.Data))
	}
}

func (s *suite) zeroRefused() {
	st := s.open()
	for _, id := range []string{ids.ID{}.String(), "", "a b", `a"b`, `a\b`, "é", string(make([]byte, 129))} {
		e := entry("r", 1)
		e.ID = id
		// The good one beside it isn't stored either.
		_, err := st.Add(s.ctx, 0, []store.Entry{entry("r", 2), e})
		s.is(err, store.ErrBadChange)
		_, err = st.Cancel(s.ctx, e.Key)
		s.is(err, store.ErrNoRow)
	}
	equal(s, "rows", len(s.list(st)), 0)
}

func (s *suite) addingAgain() {
	st := s.open()
	e := entry("r", 1)
	e.Data = nil
	row := s.add(st, e)[0]
	other := e
	other.Fingerprint = "v1:other"
	twin := entry("r", 1)
	twin.Room = "s"
	added, err := st.Add(s.ctx, 0, []store.Entry{e, other, twin, twin})
	s.ok(err)
	equal(s, "the same", added[0], store.Added{Outcome: store.Same, Row: row})
	equal(s, "other content", added[1], store.Added{Outcome: store.Conflict, Row: row})
	equal(s, "in another room", added[2].Outcome, store.Inserted)
	equal(s, "twice in one call", added[3], store.Added{Outcome: store.Same, Row: added[2].Row})

	fence := s.drain(st)
	row = s.apply(st, fence, sending(row)).Row
	row = s.apply(st, fence, store.Step{Position: row.Position, Revision: row.Revision, To: store.Queued, Schedule: row.Schedule}).Row
	e.DueNow = true
	added, err = st.Add(s.ctx, 0, []store.Entry{e})
	s.ok(err)
	due := row
	due.Interval, due.Revision = 0, row.Revision+1
	equal(s, "due now", added[0], store.Added{Outcome: store.Same, Row: due})
	b, err := st.Body(s.ctx, row.Position)
	s.ok(err)
	if b.Data != nil {
		s.Fatalf("data %q where there was none", b.Data)
	}
}

func (s *suite) fullOutbox() {
	st := s.openOn(s.medium, store.Limits{Queued: 3})
	added, err := st.Add(s.ctx, 0, []store.Entry{entry("r", 1), entry("r", 2), entry("r", 3), entry("r", 4)})
	s.ok(err)
	equal(s, "third", added[2].Outcome, store.Inserted)
	equal(s, "fourth", added[3], store.Added{Outcome: store.Full})
	added, err = st.Add(s.ctx, 0, []store.Entry{entry("r", 5), entry("r", 1)})
	s.ok(err)
	equal(s, "fifth", added[0], store.Added{Outcome: store.Full})
	equal(s, "one that is there", added[1].Outcome, store.Same)
	rows := s.list(st)
	fence := s.drain(st)
	s.apply(st, fence, sending(rows[0])) // in flight still counts
	added, err = st.Add(s.ctx, 0, []store.Entry{entry("r", 5)})
	s.ok(err)
	equal(s, "with one in flight", added[0].Outcome, store.Full)
	s.apply(st, fence, confirm(rows[0], 1))
	s.add(st, entry("r", 5))
}

func (s *suite) pagesAndPositions() {
	st := s.open()
	var want []store.Row
	for n := range 25 {
		want = append(want, s.add(st, entry("r", n))...)
	}
	var got []store.Row
	for after := int64(0); ; {
		page, err := st.List(s.ctx, after, 10)
		s.ok(err)
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		after = page[len(page)-1].Position
	}
	if !slices.Equal(got, want) {
		s.Fatalf("pages give %v, want %v", got, want)
	}
	last := want[len(want)-1]
	if _, err := st.Discard(s.ctx, last.Key); err != nil {
		s.Fatal(err)
	}
	again := s.openOn(s.medium.Crashed(), store.Limits{})
	if r := s.add(again, entry("r", 24))[0]; r.Position <= last.Position {
		s.Fatalf("position %d was given before", r.Position)
	}
	r, ok, err := again.Find(s.ctx, want[3].Key)
	s.ok(err)
	equal(s, "found", ok, true)
	equal(s, "row", r, want[3])
	_, ok, err = again.Find(s.ctx, store.Key{Room: "r", ID: "none"})
	s.ok(err)
	equal(s, "found none", ok, false)
	_, err = again.Body(s.ctx, last.Position)
	s.is(err, store.ErrNoRow)
}

func (s *suite) export() {
	st := s.open()
	for n := range 150 {
		s.add(st, entry("r", n))
	}
	n := 0
	s.ok(st.Export(s.ctx, func(r store.Row, b store.Body) error {
		want := entry("r", n)
		equal(s, "key", r.Key, want.Key)
		equal(s, "text", b.Text, want.Text)
		n++
		return nil
	}))
	equal(s, "rows", n, 150)
	stop := errors.New("stop")
	s.is(st.Export(s.ctx, func(store.Row, store.Body) error { return stop }), stop)
	s.add(st, entry("r", 200)) // a failed export holds nothing up
}

func (s *suite) outsideChanges() {
	st, out := s.open(), s.open()
	rows := s.add(st, entry("r", 0), entry("r", 1), entry("r", 2), entry("r", 3), entry("r", 4))
	fence := s.drain(st)
	none := store.Key{Room: "r", ID: "none"}
	for _, f := range []func() (store.Row, error){
		func() (store.Row, error) { return out.Cancel(s.ctx, none) },
		func() (store.Row, error) { return out.Retry(s.ctx, none, 1) },
		func() (store.Row, error) { return out.Discard(s.ctx, none) },
	} {
		_, err := f()
		s.is(err, store.ErrNoRow)
	}
	gone, err := out.Cancel(s.ctx, rows[0].Key)
	s.ok(err)
	equal(s, "cancelled", gone, rows[0])

	sent := s.apply(st, fence, sending(rows[1])).Row
	_, err = out.Cancel(s.ctx, sent.Key)
	s.is(err, store.ErrMayHaveBeenSent)
	_, err = out.Retry(s.ctx, sent.Key, 1)
	s.is(err, store.ErrInFlight)

	parked := s.apply(st, fence, store.Step{
		Position: sent.Position, Revision: sent.Revision, To: store.Parked, Schedule: sent.Schedule, Reason: "too_large", AsideAt: 8000,
	}).Row
	_, err = out.Cancel(s.ctx, parked.Key)
	s.is(err, store.ErrMayHaveBeenSent)
	got, err := out.Retry(s.ctx, parked.Key, 0)
	s.ok(err)
	want := parked
	want.State, want.Schedule, want.Reason, want.AsideAt, want.Revision = store.Queued, store.Schedule{}, "", 0, parked.Revision+1
	equal(s, "retried", got, want)

	doubt := s.apply(st, fence, store.Step{Position: rows[2].Position, Revision: 1, To: store.Uncertain, AsideAt: 8000}).Row
	_, err = out.Retry(s.ctx, doubt.Key, 0)
	s.is(err, store.ErrBadChange)
	got, err = out.Retry(s.ctx, doubt.Key, 8500)
	s.ok(err)
	equal(s, "sent at", got.FirstSentAt, 8500)
	equal(s, "state", got.State, store.Queued)

	s.apply(st, fence, sending(rows[3]))
	for _, r := range []store.Row{rows[3], rows[4]} {
		_, err := out.Discard(s.ctx, r.Key)
		s.ok(err)
	}
	equal(s, "left", len(s.list(st)), 2)
	// None of it is brought back by what the drainer remembers.
	for _, r := range rows {
		equal(s, "applied to a row changed meanwhile", s.apply(st, fence, sending(r)).Applied, false)
	}
	equal(s, "left after late steps", len(s.list(st)), 2)
}
