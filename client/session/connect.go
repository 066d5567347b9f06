package session

import (
	"slices"

	"hapax/protocol"
)

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

	offered  string // the token of the last hello
	token    string // the token of the last welcome
	refused  string // a token that the server refused: offered again by the delay law, the app is asked for another now and then
	foreign  string // a token of another actor: not offered again
	auth     error  // why a token is needed
	calling  bool   // the app was asked for a token, and has not answered
	late     string // what it answered when no token was waited for: the next one to be offered
	called   int64  // mono: when it was last asked, 0 for never
	callBy   int64  // mono: its answer is overdue; 0 where that was told, or none is out
	gone     bool   // the app signed out: nothing is tried until its word
	renewing bool   // it was asked in good time before the token expires
	hello    string // the ref of the hello that is out
	renewAt  int64  // mono: when the app is asked again for a token, 0 where not
	again    bool   // the app has a newer token than the one that is out: it is asked for that after the welcome
	paused   bool   // the session ended: nothing is sent until it is renewed
	giveUp   error  // why no connection is tried after this one
	why      error  // why this end closed the connection

	draining     bool // the server said when to come back: nothing new is sent
	saidDraining bool // it said so at all

	frames int64 // numbered on this connection
	pingAt int64
	pongBy int64  // mono: some frame must come by then; 0 where none is asked for
	ping   string // the ref of the last ping, while its pong is awaited
	pinged int64  // mono: when it was sent
	heard  int64  // mono: when the last frame came
	doubt  bool   // an answer is overdue and nothing came since: it may be dead, so nothing about rows is sent

	welcomed    bool
	serverTime  int64
	welcomeMono int64
	retention   int64
	limits      *protocol.Limits
	features    []string

	state State
}

func (m *Machine) handleLink(in Input) {
	l := &m.link
	switch in := in.(type) {
	case Connect:
		l.want = true
		if l.phase == idle || l.phase == waiting {
			l.tries, l.dials, l.refused, l.foreign, l.giveUp, l.gone = 0, 0, "", "", nil, false
			m.tryAt(0)
		}
	case Disconnect:
		m.disconnect()
	case Visible:
		if l.phase == waiting {
			l.at = m.now.Mono
		}
		m.hurry()
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
			l.pongBy, l.heard, l.doubt = 0, m.now.Mono, false
			m.received(in.Event)
		}
	case Garbled:
		if in.Conn == l.conn {
			l.pongBy, l.heard, l.doubt = 0, m.now.Mono, false
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
	m.dropViews(in.Written)
	m.unsendAsks(in.Written)
	if l.upSince != 0 && m.now.Mono-l.upSince >= m.cfg.StableAfter {
		l.tries, l.dials = 0, 0
	}
	l.upSince, l.why, l.hello, l.renewAt = 0, nil, "", 0
	l.paused, l.draining, l.saidDraining = false, false, false
	l.pingAt, l.pongBy, l.ping, l.features, l.doubt = 0, 0, "", nil, false
	switch {
	case !l.want:
		l.phase = idle
		m.setState(Offline, nil, 0)
	case l.giveUp != nil:
		l.phase = idle
		m.setState(GaveUp, l.giveUp, 0)
	case l.gone:
		l.phase = idle
		m.needToken(ErrSignedOut, 0)
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
	d := Delay(m.cfg.Base, m.backOffCap(), l.tries, m.cfg.Rand())
	if l.comeBack > 0 {
		spread := min(l.comeBack, m.cfg.ConnCap) / 2
		d = max(d, l.comeBack+share(spread, m.cfg.Rand()))
		l.comeBack = 0
	}
	m.tryAt(d)
	if l.auth != nil {
		m.needToken(l.auth, d)
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
			m.begin()
		}
	case asking:
		m.tokenOverdue()
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
	case l.pongBy != 0 && now >= m.silentBy(), l.hello != "" && now >= l.at:
		m.cut(ErrNoAnswer)
		return
	case l.draining && now >= l.at:
		m.cut(ErrDraining)
		return
	}
	if now >= l.pingAt {
		if l.pongBy == 0 {
			l.pongBy = now + m.cfg.PongWithin
		}
		m.sendPing()
	}
	if l.renewAt != 0 && now >= l.renewAt {
		l.renewAt = 0
		m.renew()
	}
	m.tokenOverdue()
}

func (m *Machine) sendPing() {
	l := &m.link
	l.pingAt, l.ping, l.pinged = m.now.Mono+m.cfg.PingEvery, m.ref('p'), m.now.Mono
	m.command(protocol.Command{Type: protocol.TypePing, Ref: l.ping, Limit: -1}, noRow)
}

// hurry makes sure that an open connection is alive, where there is reason to doubt it.
func (m *Machine) hurry() {
	l := &m.link
	if l.phase != up || l.draining {
		return
	}
	by := m.now.Mono + m.cfg.HurryWithin
	if m.pongs.known {
		by = m.now.Mono + m.pongs.times4(m.cfg.HurryWithin, max(m.cfg.HurryWithin, m.cfg.PageWithin))
	}
	if l.pongBy == 0 {
		l.pongBy = by
		m.sendPing()
		return
	}
	l.pongBy = min(l.pongBy, by)
}

// silentBy is when the connection is given up, if no frame comes. Rows that are awaited may be long under way in one frame.
func (m *Machine) silentBy() int64 {
	if since := m.awaitingRows(); since != 0 {
		return max(m.link.pongBy, max(m.link.heard, since)+m.cfg.PageWithin)
	}
	return m.link.pongBy
}

// awaitingRows is when rows were last asked for that are not here, 0 where none are awaited.
func (m *Machine) awaitingRows() (since int64) {
	for _, r := range m.order {
		if r.view.sub == subAsked && r.view.want {
			since = max(since, r.view.asked)
		}
	}
	for _, a := range m.asks {
		if a.sent != 0 && a.command.Type == protocol.TypeHistory {
			since = max(since, a.at)
		}
	}
	return since
}

// pong measures the way there and back.
func (m *Machine) pong(e protocol.Event) {
	if l := &m.link; e.Ref == l.ping && l.ping != "" {
		m.pongs.add(m.now.Mono - l.pinged)
		l.ping = ""
	}
}

func (l *link) has(feature string) bool { return slices.Contains(l.features, feature) }
