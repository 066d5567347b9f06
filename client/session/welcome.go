package session

import (
	"hapax/client/store"
	"hapax/protocol"
)

var noRow store.Row

// gotToken goes on with a token, on a new connection or for a renewal on the open one.
func (m *Machine) gotToken(in Token) {
	l := &m.link
	err := in.Err
	if err == nil && (in.Token == "" || in.Token == l.refused) {
		err = ErrSessionInvalid
	}
	switch {
	case l.phase == asking && err != nil:
		l.auth = err
		m.backOff(err)
	case l.phase == asking:
		l.offered, l.auth = in.Token, nil
		m.setState(Connecting, nil, 0)
		l.conn++
		l.frames = 0
		l.phase, l.at = dialing, m.now.Mono+m.cfg.DialWithin
		m.stats.Connects++
		m.effect(Dial{Conn: l.conn})
	case l.phase == up && l.hello == "" && err != nil:
		m.renewLater(err)
	case l.phase == up && l.hello == "":
		l.offered = in.Token
		m.sendHello()
	case l.phase == up && err == nil:
		l.again = true
	}
}

// newToken asks the app for its new token and offers it, whatever the connection is doing.
func (m *Machine) newToken() {
	l := &m.link
	l.refused = ""
	switch l.phase {
	case up:
		l.renewAt = 0
		m.effect(AskToken{})
	case asking, dialing, greeting:
		l.again = true
	case idle, waiting:
		if l.want {
			l.giveUp, l.dials = nil, 0
			m.tryAt(0)
		}
	}
}

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
	l.retention, l.limits = e.Retention, e.Limits
	l.hello, l.refused, l.auth, l.paused, l.renewAt = "", "", nil, false, 0
	if l.offered != l.token {
		l.token = l.offered
		m.liftHolds()
	}
	if l.phase == greeting {
		l.phase, l.upSince = up, m.now.Mono
		l.pingAt = m.now.Mono + m.cfg.PingEvery
		m.pace.start(m.cfg.PaceStart, m.now.Mono)
		m.step.evict = m.aside > 0
		m.evictAt = m.now.Mono + m.cfg.EvictEvery
	}
	if l.again {
		l.again = false
		m.effect(AskToken{})
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

// sessionInvalid pauses the outbox and asks the app for another token, once.
func (m *Machine) sessionInvalid() {
	l := &m.link
	if l.paused || l.phase != up {
		return
	}
	l.paused, l.auth, l.refused = true, ErrSessionInvalid, l.token
	if l.hello == "" {
		m.effect(AskToken{})
	}
	m.setState(AuthRequired, ErrSessionInvalid, 0)
}

// renewLater asks the app again after the delay of the law.
func (m *Machine) renewLater(err error) {
	l := &m.link
	l.tries++
	d := Delay(m.cfg.Base, m.cfg.ConnCap, l.tries, m.cfg.Rand())
	l.renewAt = m.now.Mono + d
	if l.paused {
		l.auth = err
		m.setState(AuthRequired, err, d)
	}
}

// actorMismatch ends a connection on which another actor's token was offered: nothing is sent, nothing shown.
func (m *Machine) actorMismatch() {
	m.link.auth, m.link.refused = ErrActorMismatch, m.link.offered
	m.cut(ErrActorMismatch)
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
