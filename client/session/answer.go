package session

import (
	"hapax/client/store"
	"hapax/protocol"
)

// acked takes in an ack. It confirms the row in every state; the cursor doesn't move.
func (m *Machine) acked(e protocol.Event) {
	m.answerAsk(e)
	w := m.rows[store.Key{Room: e.Room, ID: e.ClientMessageID}]
	if w == nil {
		return // a second ack of one id is harmless
	}
	if e.Epoch == "" || e.MessageID == "" || e.Seq < 1 || e.Seq > protocol.MaxSeq {
		m.garbled()
		return
	}
	m.stats.Acks++
	if w.sent != 0 && !e.Duplicate {
		m.acks.add(m.now.Mono - w.sent)
	}
	w.room.view.refused = 0
	if w.flight == nil { // a late one; of a row in flight it is counted below
		m.window.answered(m.cfg.Flights)
	}
	m.confirm(w, protocol.Message{
		Room: e.Room, Epoch: e.Epoch, Seq: e.Seq, MessageID: e.MessageID, At: e.At, ClientMessageID: e.ClientMessageID,
	}, e.Duplicate)
	m.step.changes = append(m.step.changes, store.Confirm{
		Key: w.Key, Epoch: e.Epoch, Seq: e.Seq, MessageID: e.MessageID, At: e.At,
	})
}

// confirm takes a row that the server has out of the outbox. What stores that is the caller's.
func (m *Machine) confirm(w *row, at protocol.Message, duplicate bool) {
	if w.flight != nil {
		m.window.answered(m.cfg.Flights)
	}
	m.drop(w)
	m.emit(RowConfirmed{
		Key: w.Key, MessageID: at.MessageID, Seq: at.Seq, Epoch: at.Epoch, At: at.At, Duplicate: duplicate,
	})
}

// refused takes in an error that answers a send or a question about a row.
func (m *Machine) refused(f *flight, e protocol.Event) {
	if f.status {
		m.statusRefused(f, e)
		return
	}
	w := f.row
	m.takeBack(w)
	switch e.Code {
	case protocol.OutOfOrder:
		if f.ahead == nil {
			m.slowed(f, e)
			return
		}
		m.putBack(f)
		w.after = f.ahead
	case protocol.SessionInvalid:
		m.putBack(f)
		m.sessionInvalid()
	case protocol.ActorMismatch:
		m.putBack(f)
		m.actorMismatch()
	case protocol.NotSubscribed:
		m.putBack(f)
		m.notSubscribed(w.room)
	case protocol.Forbidden:
		m.settle(f)
		m.requeue(w, m.answeredSchedule(w))
		w.asking, w.asked, w.askAt = whyForbidden, 0, 0
	case protocol.OutcomeUnknown:
		m.settle(f)
		m.stepAside(w, store.Uncertain, string(e.Code))
	default:
		if isRetryable(e) {
			m.slowed(f, e)
			return
		}
		m.settle(f)
		m.stepAside(w, store.Parked, string(e.Code))
	}
}

// isRetryable reports whether an error says "try again": by its code, or by its own word for a code unknown here.
func isRetryable(e protocol.Event) bool {
	switch e.Code {
	case protocol.Unavailable, protocol.RateLimited, protocol.InProgress, protocol.OutOfOrder, protocol.Draining:
		return true
	case protocol.TooLarge, protocol.BadRequest, protocol.IDConflict, protocol.NotFound:
		return false
	}
	return e.Retryable
}

// settle ends a flight by a final answer, which opens the way for others.
func (m *Machine) settle(f *flight) {
	m.window.answered(m.cfg.Flights)
	m.land(f)
}

// answeredSchedule is a row's schedule after an answer that doesn't park it. The greatest number of attempts is kept
// for rows that got no answer: one found with it after a crash is parked.
func (m *Machine) answeredSchedule(w *row) store.Schedule {
	s := w.Schedule
	s.Attempts = min(s.Attempts, m.cfg.MaxAttempts-1)
	return s
}

// slowed takes in a retryable answer: the row waits by the delay law, the server's word a lower bound.
func (m *Machine) slowed(f *flight, e protocol.Event) {
	m.stats.Retryable++
	if e.Code != protocol.OutOfOrder {
		m.slow(f)
	}
	m.land(f)
	w := f.row
	m.requeue(w, m.laterSchedule(w, e))
	m.emit(RowChanged{Row: w.Row, NextIn: Remaining(w.Schedule, m.now.Wall)})
}

// laterSchedule is a row's schedule after a retryable answer.
func (m *Machine) laterSchedule(w *row, e protocol.Event) store.Schedule {
	s := m.answeredSchedule(w)
	if after := min(e.RetryAfterMs, m.cfg.RetryAfterMax); after > Remaining(s, m.now.Wall) {
		// As of now, not of the attempt: a clock that jumped in between would make an interval of its jump, and jump back.
		s.LastAttemptAt, s.Interval = m.now.Wall, after
	}
	return s
}

// statusRefused takes in what the server says to a question about a row, other than an ack.
func (m *Machine) statusRefused(f *flight, e protocol.Event) {
	w := f.row
	switch e.Code {
	case protocol.NotFound, protocol.OutcomeUnknown:
		m.unknownToServer(f, e.Code)
	case protocol.SessionInvalid:
		m.putBack(f)
		m.sessionInvalid()
	case protocol.ActorMismatch:
		m.putBack(f)
		m.actorMismatch()
	default:
		m.stats.Retryable++
		m.slow(f)
		m.land(f)
		if w.asking == whyDoubt && e.Code != protocol.InProgress && !m.tooOld(w) {
			m.endAttempt(w, m.laterSchedule(w, e), false)
			return
		}
		m.askLater(w)
		if after := min(e.RetryAfterMs, m.cfg.RetryAfterMax); after > 0 {
			w.askAt = max(w.askAt, m.now.Mono+after)
		}
	}
}

// unknownToServer takes in that the server holds no result of a row, or can't tell any more. That it holds none says nothing of
// whether it can store one, so it opens no way for others.
func (m *Machine) unknownToServer(f *flight, code protocol.Code) {
	w := f.row
	m.land(f)
	if code == protocol.OutcomeUnknown {
		m.window.answered(m.cfg.Flights)
	}
	switch {
	case w.asking == whyRetention, w.asking == whyDoubt && (code == protocol.OutcomeUnknown || m.tooOld(w)):
		m.takeBack(w)
		m.stepAside(w, store.Uncertain, string(code))
	case w.asking == whyDoubt:
		m.endAttempt(w, w.Schedule, w.lost)
	case w.asking == whyNot: // another token came while this was asked: the row tries that first
	default:
		w.asking = whyNot
		w.Reason = string(protocol.Forbidden)
		w.lifted = false
		m.touch(w)
		m.emit(RowChanged{Row: w.Row})
	}
}

// liftHolds sets rows that wait for another token free, also those about to: refused, their status still being asked.
func (m *Machine) liftHolds() {
	for _, r := range m.order {
		for _, w := range r.queue {
			if w.asking == whyForbidden {
				w.asking, w.lifted = whyNot, true
			}
			if w.Reason != "" {
				w.Reason = ""
				w.lifted = true
				m.touch(w)
			}
		}
		if r.view.sub == subDenied {
			r.view.sub = subNone
		}
	}
}
