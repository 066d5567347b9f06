package session

import (
	"hapax/client/store"
	"hapax/protocol"
)

// isOwn reports whether a row is this actor's, told by an id that only its author gets.
func (m *Machine) isOwn(msg protocol.Message) bool {
	return msg.ClientMessageID != "" && msg.Actor == m.owner.Actor
}

func fingerprint(msg protocol.Message) string {
	return protocol.FingerprintOf(msg.Text, msg.Data).String()
}

// own settles the outbox row of a message that moves no view: with the same content as an ack does, with another the
// row is parked, as its id names something else.
func (m *Machine) own(msg protocol.Message) {
	if !m.isOwn(msg) {
		return
	}
	w := m.rows[store.Key{Room: msg.Room, ID: msg.ClientMessageID}]
	switch {
	case w == nil:
	case w.Fingerprint == fingerprint(msg):
		m.confirm(w, msg, w.Attempts > 1)
		m.step.changes = append(m.step.changes, store.Confirm{
			Key: w.Key, Epoch: msg.Epoch, Seq: msg.Seq, MessageID: msg.MessageID, At: msg.At,
		})
	case !w.Aside():
		m.takeBack(w)
		if w.flight != nil {
			m.settle(w.flight)
		}
		m.stepAside(w, store.Parked, store.ReasonConflict)
	}
}

// arrived prepares a row of a view for the store, which settles the outbox row of its id by itself.
func (m *Machine) arrived(msg protocol.Message) store.Arrived {
	if !m.isOwn(msg) {
		msg.ClientMessageID = ""
		return store.Arrived{Message: msg}
	}
	a := store.Arrived{Message: msg, Fingerprint: fingerprint(msg)}
	w := m.rows[store.Key{Room: msg.Room, ID: msg.ClientMessageID}]
	switch {
	case w == nil:
	case w.Fingerprint == a.Fingerprint:
		m.confirm(w, msg, w.Attempts > 1)
	case w.State == store.Parked && w.Reason == store.ReasonConflict:
	default:
		m.conflicted(w)
	}
	return a
}

// conflicted moves a row in memory as the store will by itself.
func (m *Machine) conflicted(w *row) {
	if !w.Aside() {
		m.takeBack(w)
		if w.flight != nil {
			m.settle(w.flight)
		}
	}
	m.unplace(w, w.Aside(), w.holds())
	w.State, w.Reason, w.AsideAt, w.settled = store.Parked, store.ReasonConflict, m.serverNow(), true
	w.asking, w.after = whyNot, nil
	m.place(w)
	m.emit(RowChanged{Row: w.Row})
}
