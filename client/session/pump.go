package session

import (
	"sort"

	"hapax/client/store"
)

// gate lets one row go first after a start or a reconnect. A final answer to it opens the way for the rest; after any other
// the next room's row goes first.
type gate struct {
	open  bool
	probe *flight // the row that goes first, while its answer is out
	turn  string  // the room of the last release; the next is the one after it by name, round and round
}

func (g *gate) closed(f *flight) {
	if g.probe == f {
		g.probe = nil
	}
}

// opened ends the wait for the row that went first, by a final answer to it. The rest starts at the first pace.
func (m *Machine) opened(f *flight) {
	if m.gate.probe == f {
		m.gate.probe, m.gate.open = nil, true
		m.pace.start(m.cfg.PaceStart, m.now.Mono)
	}
}

// pump releases what may go now. It is called after each input, so that a fresh row with nothing waiting goes at once;
// rows that are due together form a backlog, and a backlog goes by the pace.
func (m *Machine) pump() {
	if !m.sending() {
		return
	}
	for first := true; ; first = false {
		w, full := m.pick()
		if w == nil {
			m.pace.backlog = full
			return
		}
		if !m.gate.open && m.gate.probe != nil {
			m.pace.backlog = true
			return
		}
		held := m.pace.backlog || !first
		if held && !m.pace.allows(m.now.Mono) {
			m.pace.backlog = true
			return
		}
		m.pace.spend(m.now.Mono, held)
		m.gate.turn = w.Room
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

// pick returns the row that goes next: the first of its room, rooms in turn. Where none may go, full tells that some row
// only waits for one in flight to make room.
func (m *Machine) pick() (w *row, full bool) {
	allFull := len(m.flights) >= m.cfg.Flights
	from := sort.Search(len(m.order), func(i int) bool { return m.order[i].name > m.gate.turn })
	for i := range m.order {
		r := m.order[(from+i)%len(m.order)]
		if len(r.queue) == r.flying {
			continue
		}
		c := m.candidate(r)
		switch {
		case c == nil:
		case allFull || r.flying >= m.cfg.RoomFlights:
			full = true
		default:
			return c, false
		}
	}
	return nil, full
}

// candidate returns the row of a room that may go now, the bounds of what is in flight aside.
func (m *Machine) candidate(r *room) *row {
	if r.holders > 0 || r.view.blocksSends() {
		return nil
	}
	for {
		w := r.next()
		if w == nil || !m.mayGo(w) {
			return nil
		}
		if w.asking != whyNot || w.Attempts < m.cfg.MaxAttempts {
			return w
		}
		// Found at its last attempt after a crash: whether that was answered is unknown.
		m.stepAside(w, store.Parked, ReasonAttempts)
		if r.holders > 0 {
			return nil
		}
	}
}

// next returns the first row of the room that isn't in flight. There is none behind a question: what its answer means for
// those rows must be known first.
func (r *room) next() *row {
	for _, w := range r.queue {
		if w.flight == nil {
			return w
		}
		if w.flight.status {
			return nil
		}
	}
	return nil
}

// mayGo reports whether a room's next row may go now. If not, it holds back those behind it.
func (m *Machine) mayGo(w *row) bool {
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
