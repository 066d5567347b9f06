package storetest

import (
	"hapax/client/store"
	"hapax/protocol"
)

func (s *suite) oneDrains() {
	a, b := s.open(), s.open()
	first := s.drain(a)
	_, err := a.Drain(s.ctx)
	s.is(err, store.ErrDraining)
	_, err = b.Drain(s.ctx)
	s.is(err, store.ErrDraining)
	s.ok(b.Undrain(s.ctx)) // doesn't drain: nothing happens
	row := s.add(a, entry("r", 1))[0]

	s.ok(a.Undrain(s.ctx))
	second := s.drain(b)
	if second <= first {
		s.Fatalf("fence %d after %d", second, first)
	}
	for _, fence := range []int64{0, first, second} {
		_, err = a.Apply(s.ctx, fence, []store.Change{sending(row)})
		s.is(err, store.ErrFenced)
		_, err = a.Evict(s.ctx, fence, 1)
		s.is(err, store.ErrFenced)
	}
	e := entry("r", 2)
	e.State, e.FirstSentAt = store.Sending, 1
	_, err = a.Add(s.ctx, first, []store.Entry{e})
	s.is(err, store.ErrFenced)
	_, err = a.Add(s.ctx, 0, []store.Entry{e})
	s.is(err, store.ErrFenced)
	equal(s, "rows", len(s.list(a)), 1)
	added, err := b.Add(s.ctx, second, []store.Entry{e})
	s.ok(err)
	equal(s, "state", added[0].Row.State, store.Sending)

	s.ok(b.Close())
	if third := s.drain(a); third <= second {
		s.Fatalf("fence %d after %d", third, second)
	}
	if after := s.drain(s.openOn(s.medium.Crashed(), store.Limits{})); after <= second+1 {
		s.Fatalf("fence %d after a crash at %d", after, second+1)
	}
}

func (s *suite) sendingNotBelieved() {
	st := s.open()
	row := s.add(st, entry("r", 1))[0]
	sent := s.apply(st, s.drain(st), sending(row)).Row
	again := s.openOn(s.medium.Crashed(), store.Limits{})
	equal(s, "before a drainer", s.list(again)[0], sent)
	equal(s, "in doubt before a drainer", len(again.InDoubt()), 0)
	s.drain(again)
	if doubt := again.InDoubt(); len(doubt) != 1 || doubt[0] != sent.Position {
		s.Fatalf("in doubt %v, was sending %d", doubt, sent.Position)
	}
	want := sent
	want.State, want.Revision = store.Queued, sent.Revision+1
	equal(s, "after", s.list(again)[0], want)
}

func (s *suite) stepsGuarded() {
	st := s.open()
	row := s.add(st, entry("r", 1))[0]
	fence := s.drain(st)
	res := s.apply(st, fence, sending(row))
	want := row
	want.State, want.Revision, want.FirstSentAt = store.Sending, 2, 5000
	want.Schedule = store.Schedule{Attempts: 1, Interval: 700, LastAttemptAt: 6000}
	equal(s, "applied", res.Applied, true)
	equal(s, "row", res.Row, want)
	res = s.apply(st, fence, sending(row))
	equal(s, "applied on an old revision", res.Applied, false)
	equal(s, "row as it is", res.Row, want)

	later := sending(res.Row)
	later.FirstSentAt = 5999
	res = s.apply(st, fence, later)
	equal(s, "first sent at", res.Row.FirstSentAt, 5000)
	res = s.apply(st, fence, store.Step{Position: row.Position, Revision: 3, To: store.Queued, Reason: "forbidden"})
	equal(s, "first sent at of a held row", res.Row.FirstSentAt, 5000)
	equal(s, "reason", res.Row.Reason, "forbidden")
	res = s.apply(st, fence, store.Step{Position: row.Position, Revision: 4, To: store.Uncertain, AsideAt: 1})
	equal(s, "applied", res.Applied, true)
	res = s.apply(st, fence, sending(res.Row))
	equal(s, "a row aside moved by a step", res.Applied, false)
	equal(s, "state", s.list(st)[0].State, store.Uncertain)
	equal(s, "a row that isn't there", s.apply(st, fence, store.Step{Position: 99, Revision: 1, To: store.Queued}).Row, store.Row{})
	c, err := st.Counts(s.ctx)
	s.ok(err)
	equal(s, "counts", c, store.Counts{Uncertain: 1})
}

func (s *suite) impossibleChanges() {
	st := s.open()
	row := s.add(st, entry("r", 1))[0]
	fence := s.drain(st)
	step := func(f func(*store.Step)) store.Step {
		c := sending(row)
		f(&c)
		return c
	}
	gap := foreign("r", 2, 2)
	for i, c := range []store.Change{
		nil,
		step(func(c *store.Step) { c.To = 0 }),
		step(func(c *store.Step) { c.To = 5 }),
		step(func(c *store.Step) { c.Attempts = -1 }),
		step(func(c *store.Step) { c.FirstSentAt = 0 }),
		step(func(c *store.Step) { c.To = store.Parked }),
		step(func(c *store.Step) { c.To, c.Reason = store.Parked, "x" }),
		step(func(c *store.Step) { c.To = store.Uncertain }),
		step(func(c *store.Step) { c.AsideAt = 1 }),
		store.Confirm{Key: row.Key, Epoch: "e", MessageID: "m"},
		store.Confirm{Key: row.Key, Seq: 1, MessageID: "m"},
		store.Snapshot{Room: "r", Cursor: protocol.Cursor{After: 1, MessageID: "m"}},
		store.Snapshot{Room: "r", Cursor: protocol.Cursor{Epoch: "e", After: 1}},
		store.Snapshot{Room: "r", Cursor: cursor(1), Messages: gap},
		store.Snapshot{Room: "r", Cursor: protocol.Cursor{Epoch: "e", After: 2, MessageID: "other"}, Messages: gap},
		store.Snapshot{Room: "s", Cursor: cursor(2), Messages: gap},
		store.Snapshot{Room: "r", Cursor: cursor(2), Messages: []store.Arrived{own(entry("r", 1), 2)}},
		store.Rows{Room: "r", From: cursor(0), To: cursor(2), Messages: gap},
		store.Rows{Room: "r", From: cursor(0), To: cursor(1), Messages: gap},
		store.Rows{Room: "r", From: cursor(0), To: cursor(1)},
		store.Rows{Room: "r", From: protocol.Cursor{Epoch: "f"}, To: cursor(0)},
		store.Rows{Room: "s", From: cursor(1), To: cursor(2), Messages: gap},
	} {
		_, err := st.Apply(s.ctx, fence, []store.Change{sending(row), c})
		if s.is(err, store.ErrBadChange); s.list(st)[0] != row {
			s.Fatalf("change %d: the good one beside it was applied", i)
		}
	}
}

// crashAtEveryStep: what is on disk after each step is what a crash there leaves, and each way ends in one message.
func (s *suite) crashAtEveryStep() {
	e := entry("r", 1)
	st := s.open()
	s.ok(st.Bind(s.ctx, store.Owner{Actor: "a", Server: "s"}))
	finish := func(m Medium, attempts int) {
		s.Helper()
		again := s.openOn(m, store.Limits{})
		fence := s.drain(again)
		rows := s.list(again)
		equal(s, "rows", len(rows), 1)
		equal(s, "state", rows[0].State, store.Queued)
		equal(s, "attempts on disk", rows[0].Attempts, attempts)
		sent := s.apply(again, fence, sending(rows[0])).Row
		equal(s, "confirmed", s.apply(again, fence, confirm(sent, 1)).Applied, true)
		equal(s, "confirmed twice", s.apply(again, fence, confirm(sent, 1)).Applied, false)
		equal(s, "rows after", len(s.list(again)), 0)
		equal(s, "messages", s.view(again, "r"), "1@0 ")
	}
	row := s.add(st, e)[0]
	finish(s.medium.Crashed(), 0)
	fence := s.drain(st)
	finish(s.medium.Crashed(), 0)
	row = s.apply(st, fence, sending(row)).Row
	finish(s.medium.Crashed(), 1)
	s.apply(st, fence, confirm(row, 1))
	again := s.openOn(s.medium.Crashed(), store.Limits{})
	equal(s, "rows after the ack", len(s.list(again)), 0)
	msgs, err := again.View(s.ctx, "r", 0, 10)
	s.ok(err)
	equal(s, "messages after the ack", len(msgs), 1)
	equal(s, "text", msgs[0].Text, e.Text)
	equal(s, "data", string(msgs[0].Data), string(e.Data))
	equal(s, "actor", msgs[0].Actor, "a")
	equal(s, "client message id", msgs[0].ClientMessageID, e.ID)
}

// twoProcesses: the ack reaches one while the other still thinks that it drains and sees a time-out.
func (s *suite) twoProcesses() {
	a, b := s.open(), s.open()
	fenceA := s.drain(a)
	s.apply(a, fenceA, sending(s.add(a, entry("r", 1))[0]))
	s.ok(a.Undrain(s.ctx)) // as by a lock that was lost
	fenceB := s.drain(b)
	row := s.apply(b, fenceB, sending(s.list(b)[0])).Row
	equal(s, "attempts", row.Attempts, 2)
	equal(s, "confirmed", s.apply(b, fenceB, confirm(row, 1)).Applied, true)
	requeue := store.Step{Position: row.Position, Revision: row.Revision, To: store.Queued}
	_, err := a.Apply(s.ctx, fenceA, []store.Change{requeue})
	s.is(err, store.ErrFenced)
	equal(s, "even with the new fence", s.apply(b, fenceB, requeue).Applied, false)
	equal(s, "rows", len(s.list(a))+len(s.list(b)), 0)
}

func (s *suite) eviction() {
	st := s.openOn(s.medium, store.Limits{Aside: 3, AsideAge: 1000})
	rows := s.add(st, entry("r", 0), entry("r", 1), entry("r", 2), entry("r", 3), entry("r", 4), entry("r", 5))
	fence := s.drain(st)
	aside := func(i int, at int64) store.Step {
		if i%2 == 0 {
			return store.Step{Position: rows[i].Position, Revision: 1, To: store.Uncertain, AsideAt: at}
		}
		return store.Step{Position: rows[i].Position, Revision: 1, To: store.Parked, AsideAt: at, Reason: "x"}
	}
	evict := func(now int64, want ...int) {
		s.Helper()
		gone, err := st.Evict(s.ctx, fence, now)
		s.ok(err)
		equal(s, "evicted", len(gone), len(want))
		for i, r := range gone {
			equal(s, "evicted row", r.Key, rows[want[i]].Key)
			_, err := st.Body(s.ctx, r.Position)
			s.is(err, store.ErrNoRow)
		}
	}
	s.apply(st, fence, aside(1, 500))
	s.apply(st, fence, aside(0, 600))
	evict(1500)    // at its age, not above it
	evict(1501, 1) // the older one
	for i := 2; i < 5; i++ {
		s.apply(st, fence, aside(i, 700-int64(i)))
	}
	evict(1000, 0) // four aside: the oldest goes, whatever its position
	c, err := st.Counts(s.ctx)
	s.ok(err)
	equal(s, "counts", c, store.Counts{Queued: 1, Parked: 1, Uncertain: 2, Evicted: 2})
	evict(1<<40, 4, 3, 2)
	equal(s, "queued rows stay", s.list(st)[0], rows[5])
}
