package session

import (
	"hapax/client/store"
	"hapax/protocol"
)

// received takes in a frame. Before the welcome only that or an error counts; frames of unknown type move nothing.
func (m *Machine) received(e protocol.Event) {
	if e.Type == protocol.TypeWelcome {
		m.welcome(e)
		return
	}
	if e.Type == protocol.TypeError {
		m.failed(e)
		return
	}
	if m.link.phase != up {
		return
	}
	switch e.Type {
	case protocol.TypeAck:
		m.acked(e)
	case protocol.TypeMessage:
		m.live(e.Message)
	case protocol.TypeSnapshot:
		m.snapshot(e)
	case protocol.TypeDelta:
		m.delta(e)
	case protocol.TypePage:
		m.page(e)
	case protocol.TypePong:
		m.pong(e)
	case protocol.TypeUnsubscribed:
		m.unsubscribed(e)
	}
}

// failed finds out what an error answers. The first letter of a ref says which of the commands it was.
func (m *Machine) failed(e protocol.Event) {
	if e.Ref == "" {
		m.failedUnnamed(e)
		return
	}
	switch e.Ref[0] {
	case 'p', 'u':
		if e.Code == protocol.SessionInvalid {
			m.sessionInvalid()
		}
	case 'h':
		if e.Ref == m.link.hello {
			m.helloRefused(e)
		}
	case 's', 'q':
		for _, f := range m.flights {
			if f.ref == e.Ref {
				m.noteDraining(e)
				m.refused(f, e)
				return
			}
		}
	case 'v':
		m.subscribeRefused(e)
	case 'w':
		m.placeRefused(e)
	case 'a':
		m.answerAsk(e)
	}
}

// failedUnnamed takes in an error without a ref: about a row if it names one, else about the connection.
func (m *Machine) failedUnnamed(e protocol.Event) {
	m.noteDraining(e)
	if e.ClientMessageID != "" {
		w := m.rows[store.Key{Room: e.Room, ID: e.ClientMessageID}]
		if w != nil && w.flight != nil {
			m.refused(w.flight, e)
		}
		return
	}
	l := &m.link
	l.comeBack = max(l.comeBack, min(e.RetryAfterMs, m.cfg.RetryAfterMax))
	switch {
	case l.phase == greeting:
		m.helloRefused(e)
	case e.Code == protocol.Draining:
		if !l.draining {
			l.draining, l.at = true, m.now.Mono+m.cfg.AnswerWithin
		}
	case e.Code == protocol.SessionInvalid:
		m.sessionInvalid()
	case e.Code == protocol.ActorMismatch:
		m.actorMismatch()
	}
}

// noteDraining remembers that the server said so: frames lost by its closing are then no attempts.
func (m *Machine) noteDraining(e protocol.Event) {
	if e.Code == protocol.Draining {
		m.link.saidDraining = true
	}
}

func (m *Machine) garbled() { m.stats.Garbled++ }
