package session

import (
	"slices"

	"hapax/client/store"
	"hapax/protocol"
)

// live takes in a row of the stream. One past a gap waits, one not past the cursor is no new line.
func (m *Machine) live(msg protocol.Message) {
	r := m.rooms[msg.Room]
	if r == nil || !r.view.kept() || r.view.sub == subNone || r.view.sub == subDenied {
		m.own(msg)
		return
	}
	v := &r.view
	switch {
	case v.has && msg.Epoch != v.cursor.Epoch:
		m.own(msg)
		if v.sub == subLive {
			m.resubscribe(r)
		}
	case v.has && msg.Seq <= v.cursor.After:
		m.stats.Drops++
		m.own(msg)
	case v.has && msg.Seq == v.cursor.After+1:
		m.proceed(r, []protocol.Message{msg})
		m.drain(r)
	default:
		m.wait(r, msg)
	}
}

// wait keeps a row that is ahead of a gap, for a while.
func (m *Machine) wait(r *room, msg protocol.Message) {
	v := &r.view
	i, there := slices.BinarySearchFunc(v.ahead, msg.Seq, func(o protocol.Message, seq int64) int {
		return int(min(max(o.Seq-seq, -1), 1))
	})
	if there {
		return
	}
	if len(v.ahead) >= m.cfg.AheadRows {
		if v.sub == subLive {
			m.resubscribe(r)
		}
		return // while a page is awaited it comes again with that or a later one
	}
	v.ahead = slices.Insert(v.ahead, i, msg)
	if v.aheadBy == 0 {
		v.aheadBy = m.now.Mono + m.cfg.AheadFor
	}
}

// drain takes the waiting rows whose gap has closed.
func (m *Machine) drain(r *room) {
	v := &r.view
	n := 0
	var next []protocol.Message
	after := v.cursor.After
	for ; n < len(v.ahead); n++ {
		msg := v.ahead[n]
		if msg.Epoch != v.cursor.Epoch || msg.Seq <= after {
			continue
		}
		if msg.Seq != after+1 {
			break
		}
		next = append(next, msg)
		after++
	}
	v.ahead = v.ahead[n:]
	if len(v.ahead) == 0 {
		v.ahead, v.aheadBy = nil, 0
	}
	m.proceed(r, next)
}

// proceed moves a view forward by rows that follow its cursor densely, rows and cursor in one change.
func (m *Machine) proceed(r *room, rows []protocol.Message) {
	if len(rows) == 0 {
		return
	}
	v := &r.view
	last := rows[len(rows)-1]
	from, to := v.cursor, protocol.Cursor{Epoch: v.cursor.Epoch, After: last.Seq, MessageID: last.MessageID}
	v.cursor = to
	var arrived []store.Arrived
	for _, msg := range rows {
		arrived = append(arrived, m.arrived(msg))
	}
	if v.rowsIn == m.steps && v.rowsAt < len(m.step.changes) {
		if c, ok := m.step.changes[v.rowsAt].(store.Rows); ok && c.Room == r.name && c.To == from {
			c.To, c.Messages = to, append(c.Messages, arrived...)
			m.step.changes[v.rowsAt] = c
			m.emit(RoomChanged{Room: r.name, Cursor: to})
			return
		}
	}
	v.rowsIn, v.rowsAt = m.steps, len(m.step.changes)
	m.step.changes = append(m.step.changes, store.Rows{Room: r.name, From: from, To: to, Messages: arrived, Now: m.serverNow()})
	m.emit(RoomChanged{Room: r.name, Cursor: to})
}

// delta takes in a page of what came after the cursor.
func (m *Machine) delta(e protocol.Event) {
	r := m.asker(e.Ref)
	if r == nil {
		return // an answer to an earlier subscription
	}
	v := &r.view
	rows, sound := m.following(v, e)
	if !sound {
		m.garbled()
		m.subscribeLater(r, 0)
		return
	}
	v.ready = true
	m.leavePlace(r)
	m.proceed(r, rows)
	if e.More {
		m.askView(r)
		return
	}
	v.sub, v.tries, v.ref, v.bytes = subLive, 0, "", 0
	if v.has && v.cursor.After < e.Head {
		m.resubscribe(r) // it calls itself the last page and ends before its own head
		return
	}
	m.drain(r)
}

// following returns the rows of a delta that lie past the cursor. A delta that isn't dense, of another epoch, or promises more
// without having moved on is not sound.
func (m *Machine) following(v *view, e protocol.Event) ([]protocol.Message, bool) {
	if !v.has || e.Epoch != v.cursor.Epoch {
		return nil, false
	}
	var rows []protocol.Message
	after := v.cursor.After
	for _, msg := range e.Messages {
		msg = whole(msg, e)
		if msg.Room != e.Room || msg.Epoch != e.Epoch || msg.MessageID == "" || msg.Seq > after+1 {
			return nil, false
		}
		if msg.Seq == after+1 {
			rows = append(rows, msg)
			after++
		}
	}
	return rows, !e.More || len(rows) > 0
}
