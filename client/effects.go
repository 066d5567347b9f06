package client

import (
	"context"
	"errors"
	"time"

	"hapax/client/session"
	"hapax/client/store"
	"hapax/protocol"
)

// run carries out effects in their order, and returns the store's answer where one is owed.
func (d *driver) run(effects []session.Effect) session.Input {
	var res session.Stored
	storing := false
	for _, e := range effects {
		switch e := e.(type) {
		case session.Bind, session.Add, session.Apply, session.Evict:
			storing = true
			if err := d.store(e, &res); err != nil {
				return session.StoreFailed{Err: err, Added: res.Added}
			}
		case session.Write:
			d.write(e)
		case session.Dial:
			d.dial(e.Conn)
		case session.Close:
			if l := d.conns[e.Conn]; l != nil {
				l.close()
			}
		case session.AskToken:
			d.askToken()
		case session.Wake:
			d.wake(e.At)
		case session.Emit:
			d.tell(e.Event)
		case session.Answer:
			d.answer(e)
		case session.Reread:
			d.behind = true
		}
	}
	if storing {
		return res
	}
	return nil
}

// store carries out one store effect. It isn't cut short by Close: what was begun is finished.
func (d *driver) store(e session.Effect, res *session.Stored) (err error) {
	ctx, s := context.Background(), d.c.store
	switch e := e.(type) {
	case session.Bind:
		err = s.Bind(ctx, e.Owner)
	case session.Add:
		entries := make([]store.Entry, len(e.Rows))
		for i, r := range e.Rows {
			entries[i] = r.Entry
			entries[i].Body = d.pending[r.Ticket].body
		}
		res.Added, err = s.Add(ctx, d.fence, entries)
		for i := range res.Added {
			d.keep(res.Added[i].Row.Position, entries[i].Body)
		}
	case session.Apply:
		res.Results, err = s.Apply(ctx, d.fence, e.Changes)
	case session.Evict:
		res.Evicted, err = s.Evict(ctx, d.fence, e.Now)
	}
	return err
}

// maxCached is how many bytes of bodies just stored are kept for their first frame, so that it needn't read them back.
const maxCached = 1 << 20

func (d *driver) keep(position int64, b Body) {
	if position == 0 {
		return
	}
	if d.cached += len(b.Text) + len(b.Data); d.cached > maxCached {
		clear(d.bodies)
		d.cached = len(b.Text) + len(b.Data)
	}
	d.bodies[position] = b
}

func (d *driver) body(position int64) (Body, error) {
	if b, ok := d.bodies[position]; ok {
		delete(d.bodies, position)
		d.cached -= len(b.Text) + len(b.Data)
		return b, nil
	}
	return d.c.store.Body(context.Background(), position)
}

// write puts bodies into frames and hands them to their connection. A row whose body can't be read, or has
// become too large for this server, is handed back instead: it would be refused forever.
func (d *driver) write(w session.Write) {
	l := d.conns[w.Conn]
	if l == nil {
		return
	}
	limit := d.m.Limits().Frame
	out := make([]outFrame, 0, len(w.Frames))
	for _, f := range w.Frames {
		if f.Row.ID != "" && f.Command.Type == protocol.TypeSend {
			b, err := d.body(f.Row.Position)
			if errors.Is(err, store.ErrNoRow) {
				d.behind = true
				continue
			}
			if err != nil {
				d.again = append(d.again, session.Unreadable{Key: f.Row.Key, Reason: session.ReasonUnreadable})
				d.tell(session.Failed{Err: err})
				continue
			}
			f.Command.Text, f.Command.Data = b.Text, b.Data
		}
		frame := protocol.AppendCommand(nil, &f.Command)
		if len(frame) > limit && f.Row.ID != "" {
			d.again = append(d.again, session.Unreadable{Key: f.Row.Key, Reason: string(protocol.TooLarge)})
			continue
		}
		out = append(out, outFrame{n: f.N, bytes: frame})
	}
	l.send(out)
}

// wake sets the timer to a monotonic time of the client's clock.
func (d *driver) wake(at int64) {
	d.timer.Stop()
	if at != 0 {
		d.timer.Reset(time.Duration(max(0, at-d.c.opts.Now().Mono)) * time.Millisecond)
	}
}

// tell hands an event to those it is of use to.
func (d *driver) tell(e Event) {
	c := d.c
	if s, ok := e.(session.ConnectionChanged); ok {
		c.shared.set(func(sh *shared) { sh.state = s })
	}
	c.waits.hear(e)
	if room, ok := e.(session.RoomChanged); ok {
		c.hub.changed(room.Room)
	}
	c.hub.emit(e)
}

// answer gives a Send or a question its answer.
func (d *driver) answer(a session.Answer) {
	if s, ok := d.pending[a.Ticket]; ok {
		delete(d.pending, a.Ticket)
		if errors.Is(a.Err, store.ErrFenced) {
			d.addAside([]sending{s}) // another process drains the store now: the row is its to send
			return
		}
		s.done <- added{row: a.Added, err: a.Err}
		return
	}
	if q, ok := d.asks[a.Ticket]; ok {
		delete(d.asks, a.Ticket)
		q.done <- a
	}
}

// reread gives the machine all rows as the store has them.
func (d *driver) reread() {
	rows, err := d.allRows(context.Background())
	if err != nil {
		d.tell(session.Failed{Err: err})
		return
	}
	d.again = append(d.again, session.Rows{Rows: rows})
}

// look notices what other handles did to the store, and takes it over where its drainer has ended.
func (d *driver) look(in []session.Input) []session.Input {
	changed, err := d.c.store.Changed(d.c.ctx)
	if err != nil || !changed && d.m != nil {
		if w := &d.wanting; err == nil && len(w.rooms) > 0 && d.c.opts.Now().Mono-w.looked >= wishLooks {
			d.hear() // perhaps one of those who want something died
		}
		return in // a store that fails is told of by what needs it
	}
	pending := d.c.waits.pending() // before the rows are read: a row that comes later is no row that went
	var rows []store.Row
	if changed && (d.m != nil || len(pending) > 0) {
		if rows, err = d.allRows(d.c.ctx); err != nil {
			return in
		}
	}
	if changed {
		if err := d.c.hub.look(d.c.ctx, d.c.store); err != nil {
			return in
		}
		d.c.waits.look(d.c.ctx, d.c.store, pending, rows)
	}
	if d.m == nil {
		if err := d.takeOver(d.c.ctx); err != nil {
			d.tell(session.Failed{Err: err})
		}
		return append(in, d.wishes()...)
	}
	d.hear()
	return append(in, session.Rows{Rows: rows})
}
