package session

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"strings"

	"hapax/protocol"
)

// Errors of the app's token function (docs/spec/client.md, 4, "Tokens").
var (
	// ErrSignedOut is the function's own word: there is no token, and none is to be asked for until NewToken or Connect.
	ErrSignedOut = errors.New("session: signed out")
	// ErrTokenSlow says that the function takes its time. It is waited for.
	ErrTokenSlow = errors.New("session: the token function hasn't answered in time")
)

// expiry reads when a token expires, Unix ms, without verifying it. 0 where it doesn't say so.
func expiry(token string) int64 {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return 0
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return 0
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if json.Unmarshal(text, &claims) != nil || !(claims.Exp > 0 && claims.Exp < protocol.MaxSeq/1000) {
		return 0
	}
	return int64(math.Floor(claims.Exp * 1000))
}

// left is how long a token is good for by its own word, in ms; known is false where it doesn't say.
func (m *Machine) left(token string) (ms int64, known bool) {
	exp := expiry(token)
	if exp == 0 {
		return 0, false
	}
	now, welcomed := m.ServerTime(m.now)
	if !welcomed {
		now = m.now.Wall
	}
	return exp - now, true
}

func (m *Machine) expired(token string) bool {
	ms, known := m.left(token)
	return known && ms <= 0
}

// begin starts a try to connect: with a token that was refused and may have become good, or with one of the app's.
func (m *Machine) begin() {
	l := &m.link
	l.dials++
	l.again = false
	switch late := l.late; {
	case late != "" && late != l.refused:
		l.late = ""
		m.tokenToConnect(late, nil)
		return
	case m.offerAgain():
		m.dial(l.refused)
		return
	}
	l.phase = asking
	m.askToken()
	if l.auth == nil {
		m.setState(Connecting, nil, 0)
	}
}

// offerAgain reports whether a refused token is offered once more without asking the app.
func (m *Machine) offerAgain() bool {
	l := &m.link
	return l.refused != "" && !m.expired(l.refused) && m.now.Mono < l.called+m.cfg.TokenEvery
}

// askToken asks the app, unless it has been and has not answered.
func (m *Machine) askToken() {
	l := &m.link
	if l.calling {
		return
	}
	l.calling, l.called, l.callBy = true, m.now.Mono, m.now.Mono+m.cfg.TokenWithin
	m.effect(AskToken{})
}

// tokenOverdue tells once that the app takes its time.
func (m *Machine) tokenOverdue() {
	l := &m.link
	if l.callBy == 0 || m.now.Mono < l.callBy {
		return
	}
	l.callBy = 0
	if l.phase == asking || l.paused {
		l.auth = ErrTokenSlow
		m.needToken(ErrTokenSlow, 0)
	}
}

func (m *Machine) dial(token string) {
	l := &m.link
	l.offered = token
	l.conn++
	l.frames = 0
	l.phase, l.at = dialing, m.now.Mono+m.cfg.DialWithin
	m.stats.Connects++
	m.effect(Dial{Conn: l.conn})
}

// gotToken goes on with what the app gave, on a new connection or for a renewal on the open one.
func (m *Machine) gotToken(in Token) {
	l := &m.link
	l.calling, l.callBy = false, 0
	err := in.Err
	switch {
	case errors.Is(err, ErrSignedOut):
		m.signedOut()
		return
	case err == nil && (in.Token == "" || in.Token == l.foreign):
		err = ErrSessionInvalid
		if l.foreign != "" {
			err = ErrActorMismatch
		}
	}
	switch l.phase {
	case asking:
		m.tokenToConnect(in.Token, err)
	case up:
		m.tokenToRenew(in.Token, err)
	case waiting, dialing, greeting, closing:
		if err == nil {
			l.late = in.Token
		}
	}
}

func (m *Machine) tokenToConnect(token string, err error) {
	l := &m.link
	if err == nil && token == l.refused && m.expired(token) {
		err = ErrSessionInvalid
	}
	if err != nil {
		l.auth = err
		m.backOff(err)
		return
	}
	if token != l.refused {
		l.auth = nil
		m.setState(Connecting, nil, 0)
	}
	m.dial(token)
}

func (m *Machine) tokenToRenew(token string, err error) {
	l := &m.link
	early := l.renewing
	l.renewing = false
	switch {
	case err != nil:
		m.renewLater(err)
	case l.hello != "":
		l.again = true
	case token == l.refused:
		m.renewLater(ErrSessionInvalid)
	case token == l.token && early && l.again: // the app has another one by now
		l.again = false
		m.askToken()
	case token == l.token && early:
		m.planRenewal()
	default:
		l.offered = token
		m.sendHello()
	}
}

// planRenewal sets when the app is asked for the next token: well before this one expires, and not when everybody else does.
func (m *Machine) planRenewal() {
	l := &m.link
	l.renewAt = 0
	rest, known := m.left(l.token)
	if !known {
		return
	}
	if rest <= 0 {
		m.renewLater(ErrSessionInvalid)
		return
	}
	in := rest/2 + share(rest/4, m.cfg.Rand())
	l.renewAt = max(m.now.Mono+in, l.called+m.cfg.Base)
}

// renew asks for the token that follows the present one, or offers one that was refused once more.
func (m *Machine) renew() {
	l := &m.link
	if m.offerAgain() && l.hello == "" {
		l.offered = l.refused
		m.sendHello()
		return
	}
	l.renewing = true
	m.askToken()
}

// renewLater tries again after the delay of the law. That the app is needed is told once the session has ended.
func (m *Machine) renewLater(err error) {
	l := &m.link
	l.tries++
	d := Delay(m.cfg.Base, m.cfg.RowCap, l.tries, m.cfg.Rand())
	l.renewAt = m.now.Mono + d
	if l.paused {
		l.auth = err
		m.needToken(err, d)
	}
}

// backOffCap is the greatest delay of a reconnect: a token that is refused is offered less often than a server is looked for.
func (m *Machine) backOffCap() int64 {
	if m.link.auth != nil {
		return max(m.cfg.RowCap, m.cfg.ConnCap)
	}
	return m.cfg.ConnCap
}

// needToken tells the app, once, that there is no session without it.
func (m *Machine) needToken(err error, retryIn int64) {
	if m.link.state != AuthRequired || errors.Is(err, ErrSignedOut) {
		m.setState(AuthRequired, err, retryIn)
	}
}

// newToken asks the app for its new token and offers it, whatever the connection is doing.
func (m *Machine) newToken() {
	l := &m.link
	l.refused, l.foreign, l.gone = "", "", false
	switch l.phase {
	case up:
		l.renewAt = 0
		l.again = l.again || l.calling
		m.askToken()
	case asking, dialing, greeting:
		l.again = true
	case idle, waiting:
		if l.want {
			l.giveUp, l.dials = nil, 0
			m.tryAt(0)
		}
	}
}

// signedOut ends the connection and all asking.
func (m *Machine) signedOut() {
	l := &m.link
	l.gone, l.auth, l.again = true, ErrSignedOut, false
	switch l.phase {
	case idle, closing:
	case waiting, asking:
		l.phase = idle
		m.needToken(ErrSignedOut, 0)
	default:
		m.cut(ErrSignedOut)
	}
}

// sessionInvalid pauses the outbox and asks the app for another token, once. That the session ended is told where none comes.
func (m *Machine) sessionInvalid() {
	l := &m.link
	if l.paused || l.phase != up {
		return
	}
	l.paused, l.refused = true, l.token
	if l.hello == "" {
		l.renewAt, l.renewing = 0, false
		m.askToken()
	}
}

// actorMismatch ends a connection on which another actor's token was offered: nothing is sent, nothing shown.
func (m *Machine) actorMismatch() {
	m.link.auth, m.link.foreign = ErrActorMismatch, m.link.offered
	m.cut(ErrActorMismatch)
}
