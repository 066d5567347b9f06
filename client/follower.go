package client

import (
	"context"

	"hapax/client/session"
	"hapax/client/store"
)

// follow does for the app what needs no machine: it stores new rows, and which rooms are wanted, for the process that drains the
// store. Questions wait for the take-over.
func (d *driver) follow(in []session.Input) {
	var batch []sending
	changed := false
	for _, i := range in {
		switch i.(type) {
		case session.Subscribe, session.Unsubscribe:
			changed = true
		}
		if s, ok := i.(session.Send); ok {
			batch = append(batch, d.pending[s.Ticket])
			delete(d.pending, s.Ticket)
		}
	}
	d.addAside(batch)
	d.want(changed)
}

// addAside stores rows as queued, in one transaction, and answers their Sends.
func (d *driver) addAside(batch []sending) {
	if len(batch) == 0 {
		return
	}
	entries := make([]store.Entry, len(batch))
	for i, s := range batch {
		entries[i] = store.Entry{
			Key: s.key, Body: s.body, Fingerprint: s.fingerprint, QueuedAt: d.c.opts.Now().Wall, State: store.Queued,
		}
	}
	rows, err := d.c.store.Add(context.Background(), 0, entries)
	for i, s := range batch {
		if err != nil {
			s.done <- added{err: err}
			continue
		}
		s.done <- added{row: rows[i]}
	}
}

// demote gives up the machine: another handle has raised the fence.
func (d *driver) demote() {
	d.hangUp()
	d.m, d.fence, d.wanting, d.again = nil, 0, wanting{}, nil
	d.c.shared.set(func(s *shared) { s.drains, s.broken = false, nil })
	d.c.hub.emit(session.Drains{Here: false})
	if err := d.c.store.Undrain(context.Background()); err != nil {
		d.tell(session.Failed{Err: err})
	}
	d.want(true)
}
