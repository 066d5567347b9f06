package client

import (
	"context"
	"errors"

	"hapax/client/session"
	"hapax/client/store"
)

// takeOver takes the store's lock and makes a machine of what the store holds. No error where another handle has the lock.
func (d *driver) takeOver(ctx context.Context) error {
	fence, err := d.c.store.Drain(ctx)
	if errors.Is(err, store.ErrDraining) {
		return nil
	}
	if err != nil {
		return err
	}
	load, err := d.load(ctx)
	if err != nil {
		return errors.Join(err, d.c.store.Undrain(context.WithoutCancel(ctx)))
	}
	d.gen++
	d.fence = fence
	d.ctx, d.stop = context.WithCancel(d.c.ctx)
	d.m = session.New(d.c.opts.Session, load)
	d.c.shared.set(func(s *shared) { s.drains, s.broken = true, nil })
	d.c.hub.emit(session.Drains{Here: true})
	return nil
}

func (d *driver) load(ctx context.Context) (l session.Load, err error) {
	if l.Owner, err = d.c.store.Owner(ctx); err != nil {
		return l, err
	}
	if l.Rooms, err = d.c.store.Rooms(ctx); err != nil {
		return l, err
	}
	l.InDoubt = d.c.store.InDoubt()
	l.Rows, err = d.allRows(ctx)
	return l, err
}

// allRows reads the outbox without its bodies.
func (d *driver) allRows(ctx context.Context) (rows []store.Row, err error) {
	for r, err := range d.c.Outbox(ctx) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// wishes are the inputs by which a new machine learns what the app wants.
func (d *driver) wishes() (in []session.Input) {
	if d.m == nil {
		return nil
	}
	for room, rows := range d.rooms {
		in = append(in, session.Subscribe{Room: room, Limit: rows})
	}
	d.unwant(d.c.ctx)
	d.wanting.rooms = nil // the machine is new: it hears of all of them
	d.hear()
	for _, q := range d.asks {
		in = append(in, q.Ask)
	}
	if d.connect {
		in = append(in, session.Connect{})
	}
	return in
}

// reopen makes a new machine where the store failed and the app asks to connect: the one way back.
func (d *driver) reopen(in []session.Input) {
	if d.m.Broken() == nil {
		return
	}
	for _, i := range in {
		if _, ok := i.(session.Connect); !ok {
			continue
		}
		if err := d.renew(); err != nil {
			d.c.hub.emit(session.Failed{Err: err})
		}
		return
	}
}

func (d *driver) renew() error {
	d.hangUp()
	if err := d.c.store.Undrain(d.c.ctx); err != nil {
		return err
	}
	old := d.m
	if err := d.takeOver(d.c.ctx); err != nil {
		return err
	}
	if d.m == old {
		return store.ErrDraining
	}
	wishes := d.wishes()
	d.again = append(d.again, wishes...)
	return nil
}
