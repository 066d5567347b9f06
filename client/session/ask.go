package session

import (
	"slices"

	"hapax/protocol"
)

// ask is a question of the app. Questions change nothing, so one is asked again on the next connection.
type ask struct {
	ticket  int64
	command protocol.Command
	sent    int64 // the number of its frame on this connection, 0 while it isn't out
	at      int64 // mono: when it was sent
	bytes   int   // how much its answer may weigh, where an earlier one was cut; 0 for the most
}

func (m *Machine) ask(in Ask) {
	c := in.Command
	c.Ref = m.ref('a')
	m.asks = append(m.asks, &ask{ticket: in.Ticket, command: c})
}

func (m *Machine) unask(ticket int64) {
	m.asks = slices.DeleteFunc(m.asks, func(a *ask) bool { return a.ticket == ticket })
}

// sendAsks sends what was not yet asked on this connection.
func (m *Machine) sendAsks() {
	if !m.sending() {
		return
	}
	for _, a := range m.asks {
		if a.sent == 0 {
			a.command.MaxBytes = m.maxBytes(a.bytes)
			a.sent, a.at = m.command(a.command, noRow), m.now.Mono
		}
	}
}

func (m *Machine) unsendAsks(written int64) {
	for _, a := range m.asks {
		if a.sent != 0 && a.sent <= written && a.command.Type == protocol.TypeHistory {
			a.bytes = quarter(a.bytes, m.Limits().DeltaBytes)
		}
		a.sent = 0
	}
}

// answerAsk gives a frame to whoever asked for it.
func (m *Machine) answerAsk(e protocol.Event) {
	for i, a := range m.asks {
		if a.command.Ref != e.Ref {
			continue
		}
		if e.Code == protocol.SessionInvalid {
			a.sent = 0
			m.sessionInvalid()
			return
		}
		m.asks = slices.Delete(m.asks, i, i+1)
		m.effect(Answer{Ticket: a.ticket, Event: e})
		return
	}
}

// page answers a history question. Own rows in it settle the outbox as those of a live stream do.
func (m *Machine) page(e protocol.Event) {
	m.answerAsk(e)
	for _, msg := range e.Messages {
		m.own(whole(msg, e))
	}
}

// whole fills in what a message of a list leaves to its frame.
func whole(msg protocol.Message, e protocol.Event) protocol.Message {
	if msg.Room == "" {
		msg.Room = e.Room
	}
	if msg.Epoch == "" {
		msg.Epoch = e.Epoch
	}
	return msg
}
