package session

import (
	"sort"

	"hapax/client/store"
)

// pump releases what may go now, as far as the window reaches. It is called after each input, so that a fresh row with nothing
// before it goes at once. What waited is held back longer where the server says "later" to every row that goes first.
func (m *Machine) pump() {
	for m.sending() && !m.link.doubt && len(m.flights) < m.window.size {
		w := m.pick()
		if w == nil {
			return
		}
		m.turn = w.Room
		if w.asking != whyNot {
			m.question(w)
		} else {
			m.fly(w)
		}
	}
}

// sending reports whether rows may leave.
func (m *Machine) sending() bool {
	return m.broken == nil && m.link.phase == up && !m.link.paused && !m.link.draining
}

// pick returns the row that goes next: the first of its room, rooms in turn.
func (m *Machine) pick() *row {
	from := sort.Search(len(m.order), func(i int) bool { return m.order[i].name > m.turn })
	for i := range m.order {
		r := m.order[(from+i)%len(m.order)]
		if len(r.queue) == r.flying || r.flying >= m.cfg.RoomFlights {
			continue
		}
		if w := m.candidate(r); w != nil {
			return w
		}
	}
	return nil
}

// candidate returns the row of a room that may go now, the bounds of what is in flight aside.
func (m *Machine) candidate(r *room) *row {
	if r.holders > 0 {
		return nil
	}
	for {
		w := r.next()
		if w == nil || m.now.Mono < m.window.until && w.stored.Position != 0 || !m.mayGo(w) {
			return nil
		}
		switch {
		case w.asking != whyNot:
			return w
		case m.blocksSends(&r.view):
			return nil
		case w.Attempts < m.cfg.MaxAttempts:
			return w
		}
		// Found at its last attempt after a crash: whether that was answered is unknown.
		m.stepAside(w, store.Parked, ReasonAttempts)
		if r.holders > 0 {
			return nil
		}
	}
}

// next returns the first row of the room that isn't in flight. Behind a question there is none but another row in doubt: what
// the answer means for those rows must be known first.
func (r *room) next() *row {
	asked := false
	for _, w := range r.queue {
		switch {
		case w.flight == nil && asked && w.asking != whyDoubt:
			return nil
		case w.flight == nil:
			return w
		case w.flight.status && w.asking != whyDoubt:
			return nil
		case w.flight.status:
			asked = true
		}
	}
	return nil
}

// mayGo reports whether a room's next row may go now. If not, it holds back those behind it.
func (m *Machine) mayGo(w *row) bool {
	if w.asking == whyDoubt {
		return m.now.Mono >= w.askAt
	}
	if w.Reason != "" || w.after != nil && w.after.flight != nil {
		return false // held, or waiting for the answer to the row it followed
	}
	if w.asking == whyNot && m.tooOld(w) {
		w.asking = whyRetention
	}
	if w.asking != whyNot {
		return m.now.Mono >= w.askAt && w.room.flying == 0
	}
	return w.lifted || Remaining(w.Schedule, m.now.Wall) == 0
}

// tooOld reports whether the server may have dropped the result of the row, so that sending it could store it twice.
func (m *Machine) tooOld(w *row) bool {
	return w.FirstSentAt != 0 && m.serverNow()-w.FirstSentAt > m.link.retention
}
