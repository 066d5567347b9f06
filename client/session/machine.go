package session

import (
	"container/list"
	"fmt"
	"slices"

	"hapax/client/store"
	"hapax/protocol"
)

// Load is what a machine starts with: the store's own words, read after its drainer's lock was taken.
type Load struct {
	Owner store.Owner
	Rows  []store.Row // all, by rising position
	// InDoubt are the positions of rows that the drainer before had in flight.
	InDoubt []int64
	Rooms   []store.Room // all views held
}

// Machine is one client's session. It is not safe for concurrent use.
type Machine struct {
	cfg   Config
	now   Now
	owner store.Owner // zero until the first welcome of the store's life
	link  link

	rows    map[store.Key]*row
	rooms   map[string]*room
	order   []*room // by name, so that every walk over rooms is the same walk
	aside   int     // rows parked or uncertain
	flights []*flight
	refs    int64
	places  list.List // rooms subscribed for sending on this connection, the one sent to longest ago first
	window  window
	turn    string   // the room of the last release; the next is the one after it by name, round and round
	acks    smoothed // the time to an ack
	pongs   smoothed // the time to a pong
	asks    []*ask

	clock   int64 // greatest wall − mono seen since the clock last went back
	started bool
	evictAt int64 // mono

	step    step
	held    []Effect       // what waits for the store
	pending bool           // the next input must be the store's
	waiting []*row         // rows of the Add under way
	stepped []*row         // rows of the Apply under way, one for each of its first changes
	applied []store.Change // all its changes
	behind  bool           // the store has rows that the machine doesn't know
	broken  error
	wake    int64
	steps   int64 // counts Steps
	stats   Stats
}

// step collects what one Step does.
type step struct {
	bind    *store.Owner
	added   []*row
	touched []*row
	changes []store.Change // of confirmations and views, after those of rows
	evict   bool
	frames  []Frame
	effects []Effect
}

// New returns a machine that has done nothing yet.
func New(cfg Config, load Load) *Machine {
	m := &Machine{
		cfg: cfg.withDefaults(), owner: load.Owner,
		rows: make(map[store.Key]*row), rooms: make(map[string]*room),
	}
	m.link.state = Offline
	for _, v := range load.Rooms {
		r := m.room(v.Room)
		r.view.cursor, r.view.has = v.Cursor, true
	}
	for _, r := range load.Rows {
		w := m.load(r)
		if slices.Contains(load.InDoubt, r.Position) && !w.Aside() {
			w.asking = whyDoubt
		}
	}
	return m
}

// Step takes in what happened up to now, in its order, and returns what to do, in its order. Called without inputs it
// sees to what time alone brings. Stored or StoreFailed must come first where the last Step returned store effects.
func (m *Machine) Step(now Now, inputs ...Input) []Effect {
	var done []Effect
	if m.pending {
		if len(inputs) == 0 {
			panic("session: Step before the store's answer")
		}
		m.now = now
		done = m.answered(inputs[0])
		inputs = inputs[1:]
	}
	m.advance(now)
	for _, in := range inputs {
		m.handle(in)
		m.pump()
	}
	m.tick()
	m.pump()
	return append(done, m.finish()...)
}

// finish turns what the Step collected into effects. Those that rest on the store are held until it has answered.
func (m *Machine) finish() []Effect {
	storing := m.storeEffects()
	out := m.step.effects
	if len(m.step.frames) > 0 {
		out = append(out, Write{Conn: m.link.conn, Frames: m.step.frames})
	}
	m.step = step{}
	if len(storing) > 0 {
		m.held, m.pending = out, true
		return storing
	}
	if m.behind { // not before: what is read must hold all that was given to the store
		m.behind = false
		out = append(out, Reread{})
	}
	if at := m.nextWake(); at != m.wake {
		m.wake = at
		out = append(out, Wake{At: at})
	}
	return out
}

func (m *Machine) handle(in Input) {
	if m.broken != nil {
		m.refuse(in)
		return
	}
	switch in := in.(type) {
	case Connect, Disconnect, Token, NewToken, Connected, Wrote, Received, Garbled, Lost, Visible:
		m.handleLink(in)
	case Send:
		m.send(in)
	case RowIs:
		m.rowIs(in.Row)
	case RowGone:
		m.rowGone(in.Row)
	case Rows:
		m.reread(in.Rows)
	case TryNow:
		m.tryNow(in.Room)
	case Unreadable:
		m.unreadable(in)
	case Subscribe:
		m.subscribe(in)
	case Unsubscribe:
		m.unsubscribe(in.Room)
	case Forgot:
		m.forgot(in.Room)
	case Ask:
		m.ask(in)
	case Unask:
		m.unask(in.Ticket)
	}
}

// refuse answers what comes to a machine whose store failed: nothing is taken in, nothing is sent.
func (m *Machine) refuse(in Input) {
	err := fmt.Errorf("%w: %w", ErrBroken, m.broken)
	switch in := in.(type) {
	case Send:
		m.effect(Answer{Ticket: in.Ticket, Err: err})
	case Ask:
		m.effect(Answer{Ticket: in.Ticket, Err: err})
	case Lost:
		if in.Conn == m.link.conn {
			m.link.phase = idle
		}
	}
}

func (m *Machine) effect(e Effect) { m.step.effects = append(m.step.effects, e) }
func (m *Machine) emit(e Event)    { m.effect(Emit{Event: e}) }

// command numbers a frame of the present connection and puts it in line.
func (m *Machine) command(c protocol.Command, r store.Row) int64 {
	m.link.frames++
	m.step.frames = append(m.step.frames, Frame{N: m.link.frames, Command: c, Row: r})
	return m.link.frames
}

// Stats returns what the machine has counted.
func (m *Machine) Stats() Stats {
	s := m.stats
	for _, r := range m.order {
		s.Queued += len(r.queue)
		for _, w := range r.queue {
			if w.flight != nil {
				s.Sending++
			}
		}
		for _, w := range r.aside {
			if w.State == store.Parked {
				s.Parked++
			} else {
				s.Uncertain++
			}
		}
	}
	return s
}

// Broken returns the failure of the store after which the machine does nothing any more, nil while all is well.
func (m *Machine) Broken() error { return m.broken }

// State returns the connection's state.
func (m *Machine) State() State { return m.link.state }

// Limits returns what the server of the last welcome takes, the protocol's own before one.
func (m *Machine) Limits() protocol.Limits {
	if m.link.limits != nil {
		return *m.link.limits
	}
	return protocol.DefaultLimits
}

// ServerTime returns the server's time as of the last welcome, false before one.
func (m *Machine) ServerTime(now Now) (int64, bool) {
	if !m.link.welcomed {
		return 0, false
	}
	return m.link.serverTime + now.Mono - m.link.welcomeMono, true
}

// serverNow is ServerTime for rows, to which 0 means never.
func (m *Machine) serverNow() int64 {
	t, _ := m.ServerTime(m.now)
	return max(t, 1)
}
