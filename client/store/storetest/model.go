package storetest

import (
	"cmp"
	"slices"

	"hapax/client/store"
	"hapax/protocol"
)

// model is what a store holds, kept in the plainest way: lists, searched from their start.
type model struct {
	limits   store.Limits
	position int64
	rows     []store.Row
	bodies   map[int64]store.Body
	evicted  int64
	feed     int64
	views    map[string]*modelView
}

type modelView struct {
	cursor   protocol.Cursor
	replaced int64
	messages []store.Message
}

func (m *model) index(match func(store.Row) bool) int { return slices.IndexFunc(m.rows, match) }

func (m *model) byKey(k store.Key) int {
	return m.index(func(r store.Row) bool { return r.Key == k })
}

func (m *model) add(e store.Entry) store.Added {
	var have *store.Row
	i := m.byKey(e.Key)
	if i >= 0 {
		have = &m.rows[i]
	}
	a, write := e.Admit(have, m.counts().Queued, m.limits.Queued, m.position+1)
	switch {
	case write && i < 0:
		m.position++
		m.rows = append(m.rows, a.Row)
		m.bodies[m.position] = e.Body
	case write:
		m.rows[i] = a.Row
	}
	return a
}

func (m *model) counts() store.Counts {
	c := store.Counts{Evicted: m.evicted}
	for _, r := range m.rows {
		switch r.State {
		case store.Queued:
			c.Queued++
		case store.Sending:
			c.Queued++
			c.Sending++
		case store.Parked:
			c.Parked++
		case store.Uncertain:
			c.Uncertain++
		}
	}
	return c
}

func (m *model) remove(i int) { m.rows = slices.Delete(m.rows, i, i+1) }

func (m *model) view(room string) *modelView {
	if m.views[room] == nil {
		m.views[room] = &modelView{}
	}
	return m.views[room]
}

func (m *model) confirm(c store.Confirm, owner store.Owner) bool {
	i := m.byKey(c.Key)
	if i < 0 {
		return false
	}
	v := m.view(c.Room)
	if !slices.ContainsFunc(v.messages, func(o store.Message) bool {
		return o.MessageID == c.MessageID || o.Epoch == c.Epoch && o.Seq == c.Seq
	}) {
		v.messages = append(v.messages, c.Message(owner, m.bodies[m.rows[i].Position]))
	}
	m.remove(i)
	return true
}

// arrive replaces what is held of the messages, and settles rows.
func (m *model) arrive(v *modelView, arrived []store.Arrived, now int64) {
	for _, a := range arrived {
		position := int64(0)
		for _, o := range v.messages {
			if o.MessageID == a.MessageID {
				position = o.Position
			}
		}
		if position == 0 {
			m.feed++
			position = m.feed
		}
		v.messages = slices.DeleteFunc(v.messages, func(o store.Message) bool {
			return o.MessageID == a.MessageID || o.Epoch == a.Epoch && o.Seq == a.Seq
		})
		v.messages = append(v.messages, store.Message{Position: position, Message: a.Message})
		i := m.byKey(store.Key{Room: a.Room, ID: a.ClientMessageID})
		if a.Fingerprint == "" || i < 0 {
			continue
		}
		if m.rows[i].Fingerprint == a.Fingerprint {
			m.remove(i)
		} else {
			m.rows[i], _ = m.rows[i].Conflict(now)
		}
	}
}

func (m *model) advance(c store.Rows) bool {
	v := m.views[c.Room]
	if v == nil || v.cursor != c.From {
		return false
	}
	m.arrive(v, c.Messages, c.Now)
	v.cursor = c.To
	return true
}

func (m *model) replace(c store.Snapshot) {
	v := m.view(c.Room)
	m.feed++
	v.replaced = m.feed
	v.messages = slices.DeleteFunc(v.messages, func(o store.Message) bool {
		in := slices.ContainsFunc(c.Messages, func(a store.Arrived) bool { return a.MessageID == o.MessageID })
		return !in && (o.Position != 0 || o.Epoch != c.Cursor.Epoch || o.Seq <= c.Cursor.After)
	})
	m.arrive(v, c.Messages, c.Now)
	v.cursor = c.Cursor
}

func (m *model) evict(now int64) []store.Row {
	aside := slices.DeleteFunc(slices.Clone(m.rows), func(r store.Row) bool { return !r.Aside() })
	gone := m.limits.Evictable(aside, now)
	for _, r := range gone {
		m.remove(m.byKey(r.Key))
	}
	m.evicted += int64(len(gone))
	return gone
}

// messages returns those of a room, or of all, that match, in an order.
func (m *model) messages(match func(store.Message) bool, less func(a, b store.Message) int) (msgs []store.Message) {
	for _, v := range m.views {
		for _, o := range v.messages {
			if match(o) {
				msgs = append(msgs, o)
			}
		}
	}
	slices.SortFunc(msgs, less)
	return msgs
}

func byPosition(a, b store.Message) int { return cmp.Compare(a.Position, b.Position) }

func bySeq(a, b store.Message) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.MessageID, b.MessageID))
}
