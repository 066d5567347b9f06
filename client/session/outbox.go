package session

import (
	"slices"

	"hapax/client/store"
)

// send takes in a new row. Where nothing stands before it, it leaves in this very Step, stored with its attempt in one sync.
func (m *Machine) send(in Send) {
	if have := m.rows[in.Key]; have != nil {
		a := store.Added{Outcome: store.Conflict, Row: have.Row}
		if have.Fingerprint == in.Fingerprint {
			a.Outcome = store.Same
		}
		m.effect(Answer{Ticket: in.Ticket, Added: a})
		return
	}
	w := &row{room: m.room(in.Key.Room), ticket: in.Ticket, Row: store.Row{
		Key: in.Key, Fingerprint: in.Fingerprint, Size: in.Size, QueuedAt: m.now.Wall, State: store.Queued,
	}}
	m.rows[w.Key] = w
	m.place(w)
	m.step.added = append(m.step.added, w)
}

// rowIs takes in how the store has a row now. One in flight goes on as it is: its next change will tell.
func (m *Machine) rowIs(s store.Row) {
	w := m.rows[s.Key]
	if w == nil {
		m.load(s)
		return
	}
	if w.stored.Position == 0 || w.stored.Revision >= s.Revision && w.stored.Position == s.Position || w.flight != nil && s.State == store.Sending {
		return
	}
	if w.flight != nil {
		m.putBack(w.flight)
	}
	m.drop(w)
	m.load(s)
}

// rowGone takes in that a row was removed by the app's word.
func (m *Machine) rowGone(r store.Row) {
	if w := m.rows[r.Key]; w != nil && w.stored.Position == r.Position {
		m.drop(w)
	}
}

// reread takes in a complete reading of the store's rows.
func (m *Machine) reread(rows []store.Row) {
	there := make(map[store.Key]struct{}, len(rows))
	for _, s := range rows {
		there[s.Key] = struct{}{}
		m.rowIs(s)
	}
	for _, r := range slices.Clone(m.order) { // dropping a room's last row may drop the room
		for _, list := range [][]*row{r.queue, r.aside} {
			for _, w := range slices.Clone(list) {
				if _, ok := there[w.Key]; !ok && w.stored.Position != 0 {
					m.drop(w)
				}
			}
		}
	}
}

// tryNow lifts the waiting times of one room. Attempts, holds and the window stay.
func (m *Machine) tryNow(name string) {
	r := m.rooms[name]
	if r == nil {
		return
	}
	for _, w := range r.queue {
		w.lifted, w.askAt = true, 0
	}
	r.view.at = min(r.view.at, m.now.Mono)
}

// unreadable parks a row whose body can't be read. Its frame was not written.
func (m *Machine) unreadable(in Unreadable) {
	w := m.rows[in.Key]
	if w == nil || w.Aside() {
		return
	}
	if w.flight != nil {
		m.takeBack(w)
		m.putBack(w.flight)
	}
	m.stepAside(w, store.Parked, in.Reason)
}

// mendAll mends the rows whose last attempt lies in the future, after the clock went back or at the start.
func (m *Machine) mendAll() {
	for _, r := range m.order {
		for _, w := range r.queue {
			if w.flight == nil && w.stored.Position != 0 {
				m.mend(w)
			}
		}
	}
}
