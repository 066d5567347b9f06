package session

import (
	"container/list"
	"slices"

	"hapax/client/store"
	"hapax/protocol"
)

// subState is where a room's subscription stands on this connection.
type subState uint8

const (
	subNone   subState = iota // to be asked for, where it is wanted
	subAsked                  // its answer is out, or a page has more behind it
	subLive                   // live rows come
	subDenied                 // refused: not asked for again before another token
)

// view is a room as this client sees it.
type view struct {
	want    bool // the app wants its rows
	sending bool // the server wants a subscription for a send, and knows none for sending only
	limit   int  // rows of a snapshot, -1 for the server's own number

	cursor protocol.Cursor
	has    bool // there is a cursor

	sub   subState
	ref   string
	by    int64 // mono: the answer is overdue
	at    int64 // mono: not asked for before
	tries int
	ready bool  // a first page came on this connection: for sends the room counts as subscribed
	asked int64 // mono: when it was asked for
	frame int64 // the number of that command
	bytes int   // how much the answer may weigh, where an earlier one was cut; 0 for the most

	place   *list.Element // in Machine.places: subscribed for sending on this connection
	placed  string        // the ref of that subscribe
	placeAt int64         // mono: not subscribed for sending before
	refused int           // times in a row that sending was

	ahead   []protocol.Message // live rows ahead of a gap, by seq
	aheadBy int64              // mono: they wait no longer

	rowsIn int64 // the Step whose changes hold, at rowsAt, Rows of this room
	rowsAt int
}

// wanted reports whether the room is to be subscribed; kept, whether its rows are stored: what was subscribed for sending alone moves
// no view.
func (v *view) wanted() bool { return v.want || v.sending }
func (v *view) kept() bool   { return v.want }

func (m *Machine) subscribe(in Subscribe) {
	v := &m.room(in.Room).view
	if !v.want || v.sub == subDenied {
		v.sub, v.ref, v.at = subNone, "", 0 // it was for sends only, or the app asks anew
	}
	v.want, v.limit = true, in.Limit
}

func (m *Machine) unsubscribe(room string) {
	r := m.rooms[room]
	if r == nil {
		return
	}
	v := &r.view
	if m.link.phase == up && (v.sub == subAsked || v.sub == subLive) {
		m.command(protocol.Command{Type: protocol.TypeUnsubscribe, Ref: m.ref('u'), Room: room, Limit: -1}, noRow)
	}
	v.want, v.sending = false, false
	v.reset()
}

// reset forgets what held for one connection.
func (v *view) reset() {
	if v.sub != subDenied {
		v.sub = subNone
	}
	v.ref, v.ready, v.ahead, v.aheadBy, v.by, v.at, v.tries = "", false, nil, 0, 0, 0, 0
}

// cut forgets what held for a connection that is lost. An answer that was under way with it may have been too long.
func (v *view) cut(written int64, most int) {
	if v.sub == subAsked && v.want && v.frame <= written {
		v.bytes = quarter(v.bytes, most)
	}
	v.reset()
	v.place, v.placed, v.placeAt, v.refused = nil, "", 0, 0
}

// leastBytes is as small as the answer to a question is asked for.
const leastBytes = 16 << 10

// quarter is the next size of an answer that was cut.
func quarter(bytes, most int) int {
	if bytes == 0 {
		bytes = most
	}
	return max(bytes/4, leastBytes)
}

// forgot drops the cursor of a view whose rows the store dropped, never one without the other.
func (m *Machine) forgot(room string) {
	if r := m.rooms[room]; r != nil {
		r.view.cursor, r.view.has = protocol.Cursor{}, false
		r.view.reset()
	}
}

func (m *Machine) dropViews(written int64) {
	most := m.Limits().DeltaBytes
	for _, r := range slices.Clone(m.order) {
		r.view.cut(written, most)
		m.prune(r)
	}
	m.places.Init()
}

// tickViews subscribes the rooms that wait for it, and those whose gap didn't close.
func (m *Machine) tickViews() {
	if !m.sending() {
		return
	}
	for _, r := range m.order {
		v := &r.view
		switch {
		case v.sub == subAsked && m.now.Mono >= v.by:
			m.subscribeLater(r, 0)
		case v.sub == subLive && v.aheadBy != 0 && m.now.Mono >= v.aheadBy:
			m.resubscribe(r)
		}
		if v.sub == subNone && v.wanted() && m.now.Mono >= v.at {
			m.askView(r)
		}
	}
}

// askView subscribes a room with its cursor.
func (m *Machine) askView(r *room) {
	v := &r.view
	v.sub, v.ref, v.asked, v.by = subAsked, m.ref('v'), m.now.Mono, m.now.Mono+m.cfg.PageWithin
	c := protocol.Command{Type: protocol.TypeSubscribe, Ref: v.ref, Room: r.name, Limit: v.limit, MaxBytes: m.maxBytes(v.bytes)}
	if v.has && v.want {
		cursor := v.cursor
		c.Cursor = &cursor
	}
	if !v.want {
		c.Limit = 0
	}
	v.frame = m.command(c, noRow)
}

// maxBytes is what a command says of the size of its answer.
func (m *Machine) maxBytes(bytes int) int {
	if m.link.has(protocol.FeatureMaxBytes) {
		return bytes
	}
	return 0
}

// resubscribe closes a gap: the server stops the live rows and starts from the cursor.
func (m *Machine) resubscribe(r *room) {
	m.stats.Gaps++
	r.view.sub, r.view.at = subNone, m.now.Mono
	r.view.ahead, r.view.aheadBy = nil, 0
}

// subscribeLater asks again by the delay law, the server's word a lower bound.
func (m *Machine) subscribeLater(r *room, after int64) {
	v := &r.view
	v.tries++
	d := Delay(m.cfg.Base, m.cfg.RowCap, v.tries, m.cfg.Rand())
	v.sub, v.ref, v.at = subNone, "", m.now.Mono+max(d, min(after, m.cfg.RetryAfterMax))
}

// asker returns the room whose subscription a ref is of.
func (m *Machine) asker(ref string) *room {
	for _, r := range m.order {
		if r.view.sub == subAsked && r.view.ref == ref {
			return r
		}
	}
	return nil
}

func (m *Machine) subscribeRefused(e protocol.Event) {
	r := m.asker(e.Ref)
	switch {
	case r == nil:
	case e.Code == protocol.SessionInvalid:
		r.view.sub = subNone
		m.sessionInvalid()
	case e.Code == protocol.ActorMismatch:
		m.actorMismatch()
	case isRetryable(e):
		m.subscribeLater(r, e.RetryAfterMs)
		if r.view.tries > 1 {
			m.emit(RoomDenied{Room: r.name, Reason: string(e.Code), RetryIn: r.view.at - m.now.Mono})
		}
	default:
		tries := r.view.tries
		m.denied(r, string(e.Code))
		r.view.tries = tries // of one that is asked for again as sends need it
	}
}

// unsubscribed takes in the server's end of a subscription; the answer to this client's own wish says nothing new.
func (m *Machine) unsubscribed(e protocol.Event) {
	if r := m.rooms[e.Room]; r != nil && e.Ref == "" && r.view.sub != subNone {
		m.denied(r, e.Reason)
	}
}

func (m *Machine) denied(r *room, reason string) {
	r.view.reset()
	r.view.sub = subDenied
	if r.view.want {
		m.emit(RoomDenied{Room: r.name, Reason: reason})
	}
}

// snapshot replaces a view, rows and cursor together.
func (m *Machine) snapshot(e protocol.Event) {
	r := m.asker(e.Ref)
	if r == nil {
		return // an answer to an earlier subscription
	}
	v := &r.view
	if !soundSnapshot(e) {
		m.garbled()
		m.subscribeLater(r, 0)
		return
	}
	v.sub, v.ready, v.tries, v.ref, v.bytes = subLive, true, 0, "", 0
	m.leavePlace(r)
	if !v.kept() {
		for _, msg := range e.Messages {
			m.own(whole(msg, e))
		}
		return
	}
	m.stats.Snapshots++
	c := store.Snapshot{Room: r.name, Cursor: protocol.Cursor{Epoch: e.Epoch, After: e.Head, MessageID: e.HeadID}, Now: m.serverNow()}
	for _, msg := range e.Messages {
		c.Messages = append(c.Messages, m.arrived(whole(msg, e)))
	}
	v.cursor, v.has = c.Cursor, true
	m.step.changes = append(m.step.changes, c)
	m.emit(RoomChanged{Room: r.name, Cursor: v.cursor, Replaced: true})
	m.drain(r)
}

// soundSnapshot reports whether a snapshot is one: rows of its room and epoch by rising seq, none past its head.
func soundSnapshot(e protocol.Event) bool {
	if e.Epoch == "" || e.Head < 0 || e.Head > protocol.MaxSeq || (e.Head == 0) != (e.HeadID == "") {
		return false
	}
	last := int64(0)
	for _, msg := range e.Messages {
		msg = whole(msg, e)
		if msg.Room != e.Room || msg.Epoch != e.Epoch || msg.MessageID == "" || msg.Seq <= last || msg.Seq > e.Head ||
			msg.Seq == e.Head && msg.MessageID != e.HeadID {
			return false
		}
		last = msg.Seq
	}
	return true
}
