package session

import (
	"hapax/client/store"
	"hapax/protocol"
)

var noRow store.Row

// greet opens a connection's talk.
func (m *Machine) greet() {
	m.link.phase = greeting
	m.sendHello()
}

func (m *Machine) sendHello() {
	l := &m.link
	l.hello = m.ref('h')
	l.at = m.now.Mono + m.cfg.WelcomeWithin
	m.command(protocol.Command{
		Type: protocol.TypeHello, Ref: l.hello, Token: l.offered, Client: m.cfg.Client, Limit: -1,
	}, noRow)
}

// welcome opens the way: rooms first, then questions, then the outbox.
func (m *Machine) welcome(e protocol.Event) {
	l := &m.link
	if e.Ref != l.hello && e.Ref != "" || l.hello == "" {
		return // of an earlier hello
	}
	if e.Actor == "" || e.Server == "" || e.Epoch == "" || e.Retention <= 0 {
		m.garbled()
		m.cut(ErrProtocol)
		return
	}
	if !m.isOwner(store.Owner{Actor: e.Actor, Server: e.Server}) {
		l.giveUp = ErrWrongStore
		m.cut(ErrWrongStore)
		return
	}
	l.welcomed, l.serverTime, l.welcomeMono = true, e.ServerTime, m.now.Mono
	l.retention, l.limits, l.features = e.Retention, e.Limits, e.Features
	l.hello, l.refused, l.auth, l.paused = "", "", nil, false
	if l.offered != l.token {
		l.token = l.offered
		m.liftHolds()
	}
	if l.phase == greeting {
		l.phase, l.upSince, l.heard = up, m.now.Mono, m.now.Mono
		l.pingAt = m.now.Mono + m.cfg.PingEvery
		m.window.start()
		m.step.evict = m.aside > 0
		m.evictAt = m.now.Mono + m.cfg.EvictEvery
	}
	m.planRenewal()
	if l.late != "" && l.late != l.token {
		l.again = true
	}
	l.late = ""
	if l.again {
		l.again = false
		m.askToken()
	}
	m.setState(Online, nil, 0)
	m.tickViews()
	m.sendAsks()
}

// isOwner checks whom the store belongs to, and has it noted at the first welcome.
func (m *Machine) isOwner(o store.Owner) bool {
	if !m.owner.Is(o) {
		return false
	}
	if m.owner != o {
		m.owner = o
		m.step.bind = &o
	}
	return true
}

// helloRefused takes in an error that answers a hello.
func (m *Machine) helloRefused(e protocol.Event) {
	l := &m.link
	l.hello = ""
	l.comeBack = min(e.RetryAfterMs, m.cfg.RetryAfterMax)
	switch e.Code {
	case protocol.SessionInvalid:
		l.refused = l.offered
		if l.phase == up {
			m.renewLater(ErrSessionInvalid)
			return
		}
		l.auth = ErrSessionInvalid
		m.cut(ErrSessionInvalid)
	case protocol.ActorMismatch:
		m.actorMismatch()
	default:
		m.cut(&ServerError{Code: e.Code, Text: e.Text, Retryable: e.Retryable})
	}
}

// ServerError is what a server said.
type ServerError struct {
	Code         protocol.Code
	Text         string // for people
	Retryable    bool
	RetryAfterMs int64 // 0 where unsaid
}

func (e *ServerError) Error() string {
	if e.Text == "" {
		return "server: " + string(e.Code)
	}
	return "server: " + string(e.Code) + ": " + e.Text
}
