package session

import (
	"slices"
	"sort"

	"hapax/client/store"
)

// Reasons of rows that are not a code of the protocol.
const (
	ReasonAttempts   = "attempts"   // parked: no answer, as often as allowed; its room is held
	ReasonUnreadable = "unreadable" // parked: its body can't be read
)

// row is an outbox row in memory. Row is how it is to be, stored how the store has it.
type row struct {
	store.Row
	stored store.Row
	room   *room
	ticket int64 // of a Send not yet stored

	flight  *flight // nil: not in flight
	after   *row    // answered out_of_order: goes when this one is answered
	lifted  bool    // due now by "try now", whatever its schedule says
	asking  why     // its status is to be asked before anything else is done
	sent    int64   // mono: when its only frame was written, for the time to its ack; 0 where there were several, or none here
	here    bool    // a frame of it left in this process
	lost    bool    // in doubt since a connection was lost with it
	asked   int     // questions without an answer
	askAt   int64   // mono: not before
	touched bool    // in step.touched
	settled bool    // by a change of the view: the store moves it by itself
	gone    bool
}

// why a row's status is asked.
type why uint8

const (
	whyNot       why = iota
	whyRetention     // first sent longer ago than results are held
	whyForbidden     // a send was refused, an earlier one may have been accepted
	whyDoubt         // its frame was written, and its answer is missing
)

// room is what the machine keeps of a room.
type room struct {
	name    string
	queue   []*row // queued and sending, by position
	aside   []*row // parked and uncertain
	holders int    // rows aside that hold the room
	flying  int    // rows in flight
	view    view
}

// room returns the room of a name, making it where needed.
func (m *Machine) room(name string) *room {
	if r := m.rooms[name]; r != nil {
		return r
	}
	r := &room{name: name}
	r.view.limit = -1
	m.rooms[name] = r
	i := sort.Search(len(m.order), func(i int) bool { return m.order[i].name > name })
	m.order = slices.Insert(m.order, i, r)
	return r
}

// load takes in a row as the store has it.
func (m *Machine) load(s store.Row) *row {
	w := &row{Row: s, stored: s, room: m.room(s.Room)}
	m.rows[s.Key] = w
	m.place(w)
	return w
}

// place puts a row where its state belongs. A row found Sending is not in flight here: it is queued.
func (m *Machine) place(w *row) {
	r := w.room
	if w.Aside() {
		r.aside = append(r.aside, w)
		m.aside++
		if w.holds() {
			r.holders++
		}
		return
	}
	i := len(r.queue)
	for i > 0 && w.Position > 0 && (r.queue[i-1].Position > w.Position || r.queue[i-1].Position == 0) {
		i--
	}
	r.queue = slices.Insert(r.queue, i, w)
}

// holds reports whether a parked row holds its room back.
func (w *row) holds() bool { return w.State == store.Parked && w.Reason == ReasonAttempts }

// unplace takes a row out of its room's lists. wasAside says in which it is, as its state may have changed already.
func (m *Machine) unplace(w *row, wasAside, held bool) {
	r := w.room
	if wasAside {
		r.aside = slices.DeleteFunc(r.aside, func(o *row) bool { return o == w })
		m.aside--
		if held {
			r.holders--
		}
		return
	}
	i := slices.Index(r.queue, w)
	switch {
	case i < 0:
	case i < len(r.queue)/2: // acks come for the first rows: move the few before it, not the thousands behind
		copy(r.queue[1:i+1], r.queue[:i])
		r.queue[0] = nil
		r.queue = r.queue[1:]
	default:
		r.queue = slices.Delete(r.queue, i, i+1)
	}
}

// drop forgets a row: it was confirmed or removed.
func (m *Machine) drop(w *row) {
	if w.gone {
		return
	}
	w.gone = true
	if f := w.flight; f != nil {
		m.land(f)
	}
	m.unplace(w, w.Aside(), w.holds())
	delete(m.rows, w.Key)
	m.prune(w.room)
}

// prune forgets a room of which nothing is kept.
func (m *Machine) prune(r *room) {
	if len(r.queue) > 0 || len(r.aside) > 0 || r.view.wanted() || r.view.has || r.view.sub != subNone || r.view.place != nil || r.view.refused > 0 {
		return
	}
	if i := slices.Index(m.order, r); i >= 0 {
		m.order = slices.Delete(m.order, i, i+1)
		delete(m.rooms, r.name)
	}
}

// touch notes that a row's change is to be stored at the end of the Step.
func (m *Machine) touch(w *row) {
	if !w.touched {
		w.touched = true
		m.step.touched = append(m.step.touched, w)
	}
}

// requeue puts a row that is no longer in flight back in line.
func (m *Machine) requeue(w *row, s store.Schedule) {
	w.State, w.Schedule = store.Queued, s
	m.mend(w)
	m.touch(w)
}

// mend mends the schedule of a row whose last attempt lies in the future.
func (m *Machine) mend(w *row) {
	if m.now.Wall >= w.LastAttemptAt {
		return
	}
	w.Schedule, _ = Mend(w.Schedule, m.now.Wall, m.cfg.Rand())
	m.stats.ClockBacks++
	m.touch(w)
}

// stepAside parks a row or makes it uncertain. The rows behind it go on, unless the reason holds the room.
func (m *Machine) stepAside(w *row, to store.State, reason string) {
	m.unplace(w, false, false)
	w.State, w.Reason, w.AsideAt = to, reason, m.serverNow()
	w.asking, w.after = whyNot, nil
	m.place(w)
	m.touch(w)
	m.emit(RowChanged{Row: w.Row})
	if m.aside > m.cfg.Limits.Aside {
		m.step.evict = true
	}
}

// behind calls f with the sends in flight behind w in its room, first to last.
func (w *row) behind(f func(*flight)) {
	i := slices.Index(w.room.queue, w)
	if i < 0 || w.room.flying == 0 {
		return
	}
	var flights []*flight
	for _, o := range w.room.queue[i+1:] {
		if len(flights) == w.room.flying {
			break
		}
		if o.flight != nil && !o.flight.status {
			flights = append(flights, o.flight)
		}
	}
	for _, o := range flights {
		f(o)
	}
}
