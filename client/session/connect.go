package session

import "hapax/protocol"

// phase is where the connection stands.
type phase uint8

const (
	idle     phase = iota // not wanted, or given up
	waiting               // until link.at
	asking                // for a token
	dialing               // until link.at at the latest
	greeting              // hello is out, its welcome is not in
	up                    // welcomed
	closing               // Close is out, its Lost is not in
)

// link is the connection, and what outlives it.
type link struct {
	want  bool // the app's wish
	phase phase
	conn  int64 // number of the last dial
	at    int64 // mono: when the phase ends by itself

	tries    int   // failed tries in a row, for the delay
	dials    int   // tries since Connect or the last stable connection, for the maximum
	upSince  int64 // mono: of the welcome
	comeBack int64 // ms: the server's word for the next try

	offered string // the token of the last hello
	token   string // the token of the last welcome
	refused string // a token that the server refused: not offered again
	auth    error  // why a token is needed
	hello   string // the ref of the hello that is out
	renewAt int64  // mono: when the app is asked again for a token, 0 where not
	again   bool   // the app has a newer token than the one that is out: it is asked for that after the welcome
	paused  bool   // the session ended: nothing is sent until it is renewed
	giveUp  error  // why no connection is tried after this one
	why     error  // why this end closed the connection

	draining     bool // the server said when to come back: nothing new is sent
	saidDraining bool // it said so at all

	frames int64 // numbered on this connection
	pingAt int64
	pongBy int64 // mono: some frame must come by then; 0 where none is asked for

	welcomed    bool
	serverTime  int64
	welcomeMono int64
	retention   int64
	limits      *protocol.Limits

	state State
}

func (m *Machine) handleLink(in Input) {
	l := &m.link
	switch in := in.(type) {
	case Connect:
		l.want = true
		if l.phase == idle || l.phase == waiting {
			l.tries, l.dials, l.refused, l.giveUp = 0, 0, "", nil
			m.tryAt(0)
		}
	case Disconnect:
		m.disconnect()
	case Visible:
		if l.phase == waiting {
			l.at = m.now.Mono
		}
	case NewToken:
		m.newToken()
	case Token:
		m.gotToken(in)
	case Connected:
		if l.phase == dialing && in.Conn == l.conn {
			m.greet()
		}
	case Wrote:
		if in.Conn == l.conn {
			m.wrote(in.N)
		}
	case Received:
		if in.Conn == l.conn && (l.phase == up || l.phase == greeting) {
			l.pongBy = 0
			m.received(in.Event)
		}
	case Garbled:
		if in.Conn == l.conn {
			l.pongBy = 0
			m.garbled()
		}
	case Lost:
		if in.Conn == l.conn && l.phase >= dialing {
			m.lost(in)
		}
	}
}

// tryAt plans the next try to connect.
func (m *Machine) tryAt(in int64) {
	m.link.phase, m.link.at = waiting, m.now.Mono+in
}

func (m *Machine) disconnect() {
	m.link.want = false
	switch m.link.phase {
	case waiting, asking:
		m.link.phase = idle
	default:
		m.closeConn()
	}
	m.setState(Offline, nil, 0)
}

// closeConn ends the connection from this end. Its flights stand until the driver tells what was written.
func (m *Machine) closeConn() {
	switch m.link.phase {
	case dialing, greeting, up:
		m.link.phase = closing
		m.step.frames = nil
		m.effect(Close{Conn: m.link.conn})
	}
}

// cut closes the connection for a reason that the app is told.
func (m *Machine) cut(why error) {
	m.link.why = why
	m.closeConn()
}

// lost ends a connection, or a try to have one.
func (m *Machine) lost(in Lost) {
	l := &m.link
	err := in.Err
	if l.why != nil {
		err = l.why
	}
	m.connLost(in.Written)
	m.dropViews()
	m.unsendAsks()
	if l.upSince != 0 && m.now.Mono-l.upSince >= m.cfg.StableAfter {
		l.tries, l.dials = 0, 0
	}
	l.upSince, l.why, l.hello, l.renewAt = 0, nil, "", 0
	l.paused, l.draining, l.saidDraining = false, false, false
	l.pingAt, l.pongBy = 0, 0
	m.gate = gate{turn: m.gate.turn}
	switch {
	case !l.want:
		l.phase = idle
		m.setState(Offline, nil, 0)
	case l.giveUp != nil:
		l.phase = idle
		m.setState(GaveUp, l.giveUp, 0)
	default:
		m.backOff(err)
	}
}

// backOff waits for the next try, by the delay law and not before the server's word.
func (m *Machine) backOff(err error) {
	l := &m.link
	if m.cfg.MaxTries > 0 && l.dials >= m.cfg.MaxTries {
		l.phase = idle
		m.setState(GaveUp, err, 0)
		return
	}
	l.tries++
	d := Delay(m.cfg.Base, m.cfg.ConnCap, l.tries, m.cfg.Rand())
	if l.comeBack > 0 {
		spread := min(l.comeBack, m.cfg.ConnCap) / 2
		d = max(d, l.comeBack+share(spread, m.cfg.Rand()))
		l.comeBack = 0
	}
	m.tryAt(d)
	if l.auth != nil {
		m.setState(AuthRequired, l.auth, d)
		return
	}
	m.setState(Offline, err, d)
}

// setState tells the app where the connection stands, where that is news.
func (m *Machine) setState(s State, err error, retryIn int64) {
	if m.link.state == s && err == nil {
		return
	}
	m.link.state = s
	m.emit(ConnectionChanged{State: s, Err: err, RetryIn: retryIn})
}

// tickLink sees to what time brings to the connection.
func (m *Machine) tickLink() {
	l := &m.link
	switch l.phase {
	case waiting:
		if m.now.Mono >= l.at {
			l.phase, l.again = asking, false
			l.dials++
			m.effect(AskToken{})
			if l.auth == nil {
				m.setState(Connecting, nil, 0)
			}
		}
	case dialing, greeting:
		if m.now.Mono >= l.at {
			m.cut(ErrNoAnswer)
		}
	case up:
		m.tickUp()
	}
}

// tickUp pings, and notices silence, an overdue renewal and a server that drains without closing.
func (m *Machine) tickUp() {
	l := &m.link
	now := m.now.Mono
	switch {
	case l.pongBy != 0 && now >= l.pongBy, l.hello != "" && now >= l.at:
		m.cut(ErrNoAnswer)
		return
	case l.draining && now >= l.at:
		m.cut(ErrDraining)
		return
	}
	if now >= l.pingAt {
		l.pingAt, l.pongBy = now+m.cfg.PingEvery, now+m.cfg.PongWithin
		m.command(protocol.Command{Type: protocol.TypePing, Ref: m.ref('p'), Limit: -1}, noRow)
	}
	if l.renewAt != 0 && now >= l.renewAt {
		l.renewAt = 0
		m.effect(AskToken{})
	}
}
