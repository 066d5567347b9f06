package session

import "hapax/client/store"

// storeEffects turns what the Step changed into store effects: for each row one change, however often it moved.
func (m *Machine) storeEffects() (out []Effect) {
	if m.step.bind != nil {
		out = append(out, Bind{Owner: *m.step.bind})
	}
	m.waiting, m.stepped = nil, nil
	var added []NewRow
	for _, w := range m.step.added {
		m.waiting = append(m.waiting, w)
		added = append(added, NewRow{Ticket: w.ticket, Entry: store.Entry{
			Key: w.Key, Fingerprint: w.Fingerprint, QueuedAt: w.QueuedAt,
			State: w.State, Schedule: w.Schedule, FirstSentAt: w.FirstSentAt,
		}})
	}
	if len(added) > 0 {
		out = append(out, Add{Rows: added})
	}
	var changes []store.Change
	for _, w := range m.step.touched {
		w.touched = false
		if w.gone || w.settled || w.stored.Position == 0 || w.Row == w.stored {
			continue
		}
		m.stepped = append(m.stepped, w)
		changes = append(changes, store.Step{
			Position: w.Position, Revision: w.stored.Revision, To: w.State, Schedule: w.Schedule,
			FirstSentAt: w.FirstSentAt, Reason: w.Reason, AsideAt: w.AsideAt,
		})
	}
	if changes = append(changes, m.step.changes...); len(changes) > 0 {
		m.applied = changes
		out = append(out, Apply{Changes: changes})
	}
	if m.step.evict {
		out = append(out, Evict{Now: m.serverNow()})
	}
	return out
}

// answered takes in the store's results and gives out what waited for them, without what they made void.
func (m *Machine) answered(in Input) []Effect {
	m.pending = false
	held := m.held
	m.held = nil
	switch in := in.(type) {
	case Stored:
		m.stored(in)
	case StoreFailed:
		return m.fail(in, held)
	default:
		panic("session: a Step with store effects must be followed by Stored or StoreFailed")
	}
	out := make([]Effect, 0, len(held))
	for _, e := range held {
		if w, ok := e.(Write); ok {
			if w.Frames = m.stillGoing(w.Frames); len(w.Frames) == 0 {
				continue
			}
			e = w
		}
		out = append(out, e)
	}
	return out
}

// stillGoing leaves out the frames of rows that the store no longer had, and completes the others' rows.
func (m *Machine) stillGoing(frames []Frame) []Frame {
	out := frames[:0]
	for _, f := range frames {
		if f.Row.ID != "" {
			w := m.rows[f.Row.Key]
			if w == nil || w.flight == nil || w.flight.frame != f.N {
				continue
			}
			f.Row = w.Row
		}
		out = append(out, f)
	}
	return out
}

func (m *Machine) stored(s Stored) {
	for i, w := range m.waiting {
		a := s.Added[i]
		m.effect(Answer{Ticket: w.ticket, Added: a})
		if a.Outcome != store.Inserted {
			m.drop(w)
			if a.Outcome != store.Full {
				m.behind = true // a row that another process added
			}
			continue
		}
		w.Row, w.stored = a.Row, a.Row
	}
	for i, w := range m.stepped {
		m.stepResult(w, s.Results[i])
	}
	for i := len(m.stepped); i < len(m.applied); i++ {
		m.changeResult(m.applied[i], s.Results[i])
	}
	m.waiting, m.stepped, m.applied = nil, nil, nil
	for _, r := range s.Evicted {
		if w := m.rows[r.Key]; w != nil {
			m.drop(w)
		}
		m.stats.Evicted++
		m.emit(RowEvicted{Row: r})
	}
}

func (m *Machine) stepResult(w *row, res store.Result) {
	if w.gone {
		return
	}
	if res.Applied {
		w.Row, w.stored = res.Row, res.Row
		return
	}
	// Somebody else moved the row first: what the store has is true.
	m.drop(w)
	if res.Row.Position != 0 {
		m.load(res.Row)
	}
}

func (m *Machine) changeResult(c store.Change, res store.Result) {
	for _, r := range res.Conflicts {
		if w := m.rows[r.Key]; w != nil {
			w.Row, w.stored, w.settled = r, r, false
		}
	}
	rows, ok := c.(store.Rows)
	if !ok || res.Applied {
		return
	}
	// The view is not the one that these rows go on from: begin again with what the store holds.
	r := m.room(rows.Room)
	r.view.cursor, r.view.has = res.Cursor, res.Cursor.Epoch != ""
	m.resubscribe(r)
	m.behind = true
}

// fail ends all work: what the store holds is unknown. It is told once, and nothing is tried again by itself.
func (m *Machine) fail(in StoreFailed, held []Effect) (out []Effect) {
	err := in.Err
	for _, e := range held {
		switch e.(type) {
		case Answer, Close:
			out = append(out, e)
		}
	}
	for i, w := range m.waiting {
		if i < len(in.Added) { // stored before the failure: saying otherwise would have it sent twice
			m.effect(Answer{Ticket: w.ticket, Added: in.Added[i]})
			continue
		}
		m.effect(Answer{Ticket: w.ticket, Err: err})
	}
	for _, a := range m.asks {
		m.effect(Answer{Ticket: a.ticket, Err: err})
	}
	m.asks, m.flights, m.waiting = nil, nil, nil
	m.broken = err
	m.closeConn()
	m.link.want = false
	m.emit(Failed{Err: err})
	m.setState(Offline, err, 0)
	return out
}
