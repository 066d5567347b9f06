package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"pgregory.net/rapid"

	"hapax/client/ids"
	"hapax/client/store"
	"hapax/protocol"
)

// steps is how long a random history is.
const steps = 40

var owner = store.Owner{Actor: "a", Server: "s"}

// machine runs one history on a store and on the model.
type machine struct {
	*rapid.T
	ctx    context.Context
	limits store.Limits
	medium Medium
	st     store.Store // the handle in use
	other  store.Store // another process
	fence  int64       // of st, 0: doesn't drain
	clock  int64
	model  *model
	seen   map[ids.ID]bool
	leases int
}

func (s *suite) randomHistories() {
	rapid.Check(s.T, func(t *rapid.T) {
		m := &machine{
			T: t, ctx: s.ctx, limits: store.Limits{Queued: 6, Aside: 3, AsideAge: 50}, medium: s.empty(s.T), seen: map[ids.ID]bool{},
			model: &model{
				limits: store.Limits{Queued: 6, Aside: 3, AsideAge: 50}, bodies: map[int64]store.Body{}, views: map[string]*modelView{},
			},
		}
		m.open()
		defer func() { m.st.Close(); m.other.Close() }()
		m.ok(m.st.Bind(m.ctx, owner))
		for range steps {
			m.clock++
			m.step()
			m.compare()
		}
	})
}

func (m *machine) ok(err error) {
	if err != nil {
		m.Helper()
		m.Fatal(err)
	}
}

func (m *machine) same(what string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		m.Helper()
		m.Fatalf("%s: %+v, model %+v", what, got, want)
	}
}

func (m *machine) is(what string, err, want error) {
	if !errors.Is(err, want) {
		m.Helper()
		m.Fatalf("%s: %v, model %v", what, err, want)
	}
}

func (m *machine) open() {
	var err error
	m.st, err = m.medium.Open(m.limits)
	m.ok(err)
	m.other, err = m.medium.Open(m.limits)
	m.ok(err)
	m.fence = 0
}

// step does one random thing on both. Names are weighted by how often they stand in the list.
func (m *machine) step() {
	switch op := rapid.SampledFrom([]string{
		"add", "add", "add", "move", "move", "move", "confirm", "rows", "rows", "snapshot", "outside", "outside",
		"drain", "drain", "undrain", "evict", "reserve", "forget", "crash",
	}).Draw(m.T, "op"); op {
	case "add":
		m.add()
	case "outside":
		m.outside()
	case "reserve":
		m.reserve()
	case "drain":
		m.drain()
	case "undrain":
		m.ok(m.st.Undrain(m.ctx))
		m.fence = 0
	case "crash":
		old, medium := m.st, m.medium.Crashed()
		m.ok(old.Close())
		m.ok(m.other.Close())
		m.medium = medium
		m.open()
	case "forget":
		room := m.room()
		m.ok(m.st.Forget(m.ctx, room))
		delete(m.model.views, room)
	default:
		if m.fence == 0 {
			m.drain()
		}
		m.drained(op)
	}
}

func (m *machine) room() string { return rapid.SampledFrom([]string{"r", "s"}).Draw(m.T, "room") }

func (m *machine) seq() int64 { return rapid.Int64Range(1, 8).Draw(m.T, "seq") }

func (m *machine) entry() store.Entry {
	e := entry(m.room(), rapid.IntRange(1, 9).Draw(m.T, "id"))
	if rapid.Bool().Draw(m.T, "other content") {
		e.Fingerprint += "x"
	}
	return e
}

func (m *machine) add() {
	entries := []store.Entry{m.entry(), m.entry()}
	entries[0].DueNow = rapid.Bool().Draw(m.T, "due now")
	st := m.st
	if rapid.Bool().Draw(m.T, "by another") {
		st = m.other
	}
	added, err := st.Add(m.ctx, 0, entries)
	m.ok(err)
	for i, e := range entries {
		m.same("added", added[i], m.model.add(e))
	}
}

func (m *machine) drain() {
	fence, err := m.st.Drain(m.ctx)
	if m.fence != 0 {
		m.is("draining twice", err, store.ErrDraining)
		return
	}
	m.ok(err)
	m.fence = fence
	for i, r := range m.model.rows {
		if r.State == store.Sending {
			m.model.rows[i] = r.Requeue()
		}
	}
}

func (m *machine) reserve() {
	l, err := m.other.Reserve(m.ctx, m.other.Device(), 3, 0)
	m.ok(err)
	issuer := ids.NewIssuer()
	m.ok(issuer.AddLease(l))
	for id := issuer.Next(); !id.IsZero(); id = issuer.Next() {
		m.seen[id] = true
	}
	m.leases++
	m.same("ids", len(m.seen), m.leases*3)
}

// outside is what a process that doesn't drain does.
func (m *machine) outside() {
	k := m.entry().Key
	i := m.model.byKey(k)
	switch rapid.SampledFrom([]string{"cancel", "retry", "discard"}).Draw(m.T, "what") {
	case "cancel":
		_, err := m.other.Cancel(m.ctx, k)
		if i < 0 {
			m.is("cancel", err, store.ErrNoRow)
		} else if want := m.model.rows[i].Cancel(); want == nil {
			m.ok(err)
			m.model.remove(i)
		} else {
			m.is("cancel", err, want)
		}
	case "discard":
		_, err := m.other.Discard(m.ctx, k)
		if i < 0 {
			m.is("discard", err, store.ErrNoRow)
			return
		}
		m.ok(err)
		m.model.remove(i)
	case "retry":
		row, err := m.other.Retry(m.ctx, k, m.clock)
		if i < 0 {
			m.is("retry", err, store.ErrNoRow)
			return
		}
		want, wantErr := m.model.rows[i].Retry(m.clock)
		m.is("retry", err, wantErr)
		m.same("retried", row, want)
		m.model.rows[i] = want
	}
}

// drained is what the drainer does.
func (m *machine) drained(op string) {
	switch op {
	case "evict":
		gone, err := m.st.Evict(m.ctx, m.fence, m.clock)
		m.ok(err)
		m.same("evicted", fmt.Sprint(gone), fmt.Sprint(m.model.evict(m.clock)))
	case "move":
		if len(m.model.rows) == 0 {
			return
		}
		i := rapid.IntRange(0, len(m.model.rows)-1).Draw(m.T, "row")
		c := m.move(m.model.rows[i])
		row, applied := c.On(m.model.rows[i])
		m.model.rows[i] = row
		m.apply(c, applied)
	case "confirm":
		seq := m.seq()
		c := store.Confirm{Key: m.entry().Key, Epoch: "e", Seq: seq, MessageID: messageID(seq), At: m.clock}
		m.apply(c, m.model.confirm(c, owner))
	case "rows":
		room, from := m.room(), protocol.Cursor{}
		if v := m.model.views[room]; v != nil {
			from = v.cursor
		}
		if rapid.IntRange(0, 4).Draw(m.T, "stale") == 0 || from.Epoch == "" {
			from = cursor(m.seq())
		}
		c := store.Rows{Room: room, From: from, To: from, Now: m.clock, Messages: m.arrived(room, from.Epoch, from.After+1, from.After+2)}
		c.To.After, c.To.MessageID = from.After+2, messageID(from.After+2)
		m.apply(c, m.model.advance(c))
	case "snapshot":
		room, head := m.room(), m.seq()
		c := store.Snapshot{Room: room, Cursor: cursor(head), Now: m.clock}
		c.Cursor.Epoch = rapid.SampledFrom([]string{"e", "f"}).Draw(m.T, "epoch")
		c.Messages = m.arrived(room, c.Cursor.Epoch, max(1, head-2), head)
		m.model.replace(c)
		m.apply(c, true)
	}
}

func (m *machine) move(r store.Row) store.Step {
	c := sending(r)
	c.To = rapid.SampledFrom([]store.State{store.Queued, store.Sending, store.Parked, store.Uncertain}).Draw(m.T, "to")
	if c.To == store.Parked || c.To == store.Uncertain {
		c.AsideAt, c.Reason = m.clock, "reason"
	}
	c.Revision -= int64(rapid.IntRange(0, 1).Draw(m.T, "stale"))
	return c
}

// arrived makes rows, some of them own ones.
func (m *machine) arrived(room, epoch string, from, to int64) []store.Arrived {
	rows := foreign(room, from, to)
	used := map[string]bool{}
	for i := range rows {
		rows[i].Epoch = epoch
		if e := m.entry(); !used[e.ID] && rapid.Bool().Draw(m.T, "own") {
			used[e.ID] = true
			rows[i].ClientMessageID, rows[i].Fingerprint, rows[i].Data = e.ID, e.Fingerprint, e.Data
		}
	}
	return rows
}

func (m *machine) apply(c store.Change, want bool) {
	res, err := m.st.Apply(m.ctx, m.fence, []store.Change{c})
	m.ok(err)
	m.same("applied", res[0].Applied, want)
}

// compare reads everything through the other handle.
func (m *machine) compare() {
	rows, err := m.other.List(m.ctx, 0, 100)
	m.ok(err)
	m.same("rows", fmt.Sprint(rows), fmt.Sprint(m.model.rows))
	for _, r := range rows {
		b, err := m.other.Body(m.ctx, r.Position)
		m.ok(err)
		m.same("body", b, m.model.bodies[r.Position])
	}
	c, err := m.other.Counts(m.ctx)
	m.ok(err)
	m.same("counts", c, m.model.counts())
	feed, _, err := m.other.Feed(m.ctx, "", 0, 1000)
	m.ok(err)
	m.same("feed", feed, m.model.messages(func(o store.Message) bool { return o.Position > 0 }, byPosition))
	for _, room := range []string{"r", "s"} {
		view, err := m.other.View(m.ctx, room, 0, 1000)
		m.ok(err)
		m.same("view", view, m.model.messages(func(o store.Message) bool { return o.Room == room }, bySeq))
		got, ok, err := m.other.Room(m.ctx, room)
		m.ok(err)
		want := store.Room{}
		v := m.model.views[room]
		if held := v != nil && v.cursor.Epoch != ""; held {
			want = store.Room{Room: room, Cursor: v.cursor, Replaced: v.replaced}
			m.same("held", ok, held)
		}
		m.same("room", got, want)
	}
}
