package session

import (
	"slices"
	"strconv"

	"hapax/client/store"
	"hapax/protocol"
)

// flight is a frame about a row that waits for its answer.
type flight struct {
	ref    string
	row    *row
	status bool           // a question, not a send
	frame  int64          // its number on the connection
	prev   store.Schedule // as before this attempt, for an outcome that is none
	ahead  *row           // the row that it follows
	by     int64          // mono: no answer by then is none; 0 until the frame is written
	first  bool           // the row was never sent before
}

func (m *Machine) ref(kind byte) string {
	m.refs++
	return string(kind) + strconv.FormatInt(m.refs, 36)
}

// fly sends a row. Its attempt is stored before the frame leaves, as of this moment.
func (m *Machine) fly(w *row) {
	f := &flight{ref: m.ref('s'), row: w, prev: w.Schedule, first: w.FirstSentAt == 0}
	w.Attempts = min(w.Attempts+1, m.cfg.MaxAttempts)
	w.Interval = Delay(m.cfg.Base, m.cfg.RowCap, w.Attempts, m.cfg.Rand())
	w.LastAttemptAt = m.now.Wall
	if w.FirstSentAt == 0 {
		w.FirstSentAt = m.serverNow()
	}
	w.State, w.lifted, w.after, w.here, w.sent = store.Sending, false, nil, true, 0
	m.takePlace(w.room)
	c := protocol.Command{
		Type: protocol.TypeSend, Ref: f.ref, Room: w.Room, ClientMessageID: w.ID, SentAt: w.FirstSentAt, Limit: -1,
	}
	if f.ahead = w.nearestAhead(); f.ahead != nil {
		c.Follows = f.ahead.ID
	}
	m.stats.Sends++
	m.touch(w)
	m.launch(f, c)
}

// question asks for a row's status.
func (m *Machine) question(w *row) {
	f := &flight{ref: m.ref('q'), row: w, prev: w.Schedule, status: true}
	m.launch(f, protocol.Command{
		Type: protocol.TypeStatus, Ref: f.ref, Room: w.Room, ClientMessageID: w.ID, SentAt: w.FirstSentAt, Limit: -1,
	})
}

func (m *Machine) launch(f *flight, c protocol.Command) {
	f.row.flight = f
	f.row.room.flying++
	f.frame = m.command(c, f.row.Row)
	m.flights = append(m.flights, f)
}

// nearestAhead returns the nearest row before w in its room that is in flight.
func (w *row) nearestAhead() *row {
	var near *row
	for _, o := range w.room.queue {
		if o == w {
			return near
		}
		if o.flight != nil && !o.flight.status {
			near = o
		}
	}
	return near
}

// land ends a flight, whatever its outcome.
func (m *Machine) land(f *flight) {
	m.flights = slices.DeleteFunc(m.flights, func(o *flight) bool { return o == f })
	f.row.flight = nil
	f.row.room.flying--
}

// putBack ends a flight whose outcome is no attempt.
func (m *Machine) putBack(f *flight) {
	m.land(f)
	if !f.status {
		m.requeue(f.row, f.prev)
	}
}

// takeBack puts the rows in flight behind w back without an attempt: the server refuses them for what became of w.
func (m *Machine) takeBack(w *row) { w.behind(m.putBack) }

// timeOut ends the flights whose answer is overdue.
func (m *Machine) timeOut() {
	for _, f := range slices.Clone(m.flights) {
		if f.by == 0 || m.now.Mono < f.by || f.row.flight != f || f.status && m.link.doubt {
			continue // where the connection may be dead that shows soon, and what becomes of the row with it
		}
		m.stats.TimedOut++
		m.acks.overdue()
		m.slow(f)
		m.hurry()
		m.link.doubt = m.link.phase == up
		m.land(f)
		w := f.row
		switch {
		case !f.status:
			w.asking, w.asked, w.askAt = whyDoubt, 0, 0
			if m.sending() {
				m.question(w) // at once, in the frame's place: no more is in flight than was
			}
		case w.asking == whyDoubt && !m.tooOld(w):
			m.endAttempt(w, w.Schedule, false)
		default:
			m.askLater(w)
		}
	}
}

// endAttempt ends the doubt about a row: as far as anybody can tell the server doesn't have it.
func (m *Machine) endAttempt(w *row, s store.Schedule, now bool) {
	m.takeBack(w) // before it may step aside, which would hide who stood behind it
	w.asking, w.lost = whyNot, false
	m.requeue(w, s)
	if w.Attempts >= m.cfg.MaxAttempts {
		m.stepAside(w, store.Parked, ReasonAttempts)
		return
	}
	w.lifted = w.lifted || now
	left := Remaining(w.Schedule, m.now.Wall)
	if w.lifted {
		left = 0
	}
	m.emit(RowChanged{Row: w.Row, NextIn: left})
}

// wrote starts the clock of the frames that are out.
func (m *Machine) wrote(n int64) {
	for _, f := range m.flights {
		if f.by != 0 || f.frame > n {
			continue
		}
		f.by = m.now.Mono + m.acks.times4(min(m.cfg.AnswerLeast, m.cfg.AnswerWithin), m.cfg.AnswerWithin)
		if f.first {
			f.row.sent = m.now.Mono
		}
	}
}

// connLost ends all flights of a connection. Frames up to written may have reached the server: what became of those rows is asked
// first on the next one.
func (m *Machine) connLost(written int64) {
	for _, f := range slices.Clone(m.flights) {
		switch {
		case m.link.draining || f.frame > written:
			m.putBack(f)
		case f.status:
			m.land(f)
		default:
			m.land(f)
			f.row.asking = whyDoubt
		}
	}
	for _, r := range m.order {
		for _, w := range r.queue {
			if w.asking != whyDoubt {
				continue
			}
			w.asked, w.askAt, w.sent, w.lost = 0, 0, 0, w.here
			if w.State == store.Sending {
				m.requeue(w, w.Schedule)
				m.emit(RowChanged{Row: w.Row, NextIn: Remaining(w.Schedule, m.now.Wall)})
			}
		}
	}
}

// askLater puts a row's question off by the delay law. It is no attempt of the row.
func (m *Machine) askLater(w *row) {
	w.asked++
	w.askAt = m.now.Mono + Delay(m.cfg.Base, m.cfg.RowCap, w.asked, m.cfg.Rand())
}
