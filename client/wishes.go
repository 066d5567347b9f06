package client

import (
	"context"

	"hapax/client/session"
	"hapax/client/store"
)

// Of several processes on a store one has a connection. The others note in the store of which rooms they want rows, and it subscribes for
// them: what arrives lies in the store for all. A wish is repeated every 20 s; one that wasn't for 60 s is a dead process's.
const (
	wishEvery = 20_000 // ms
	wishLasts = 60_000
	wishLooks = 10_000 // how often the wishes of others are looked at where nothing changes
)

// wanting is what a driver knows of the wishes of other processes, and what it told them of its own.
type wanting struct {
	beat   int64 // of the last Want; 0: nothing is noted
	told   int64 // monotonic ms of it
	looked int64 // monotonic ms of the last look at the others'
	others map[store.Handle]heard
	rooms  map[string]int // what the others want
}

type heard struct{ beat, at int64 }

// want notes this process's wishes while it follows, where they changed or have to be repeated.
func (d *driver) want(changed bool) {
	w := &d.wanting
	now := d.c.opts.Now().Mono
	switch {
	case changed && (len(d.rooms) > 0 || w.beat > 0):
	case len(d.rooms) > 0 && now-w.told >= wishEvery:
	default:
		return
	}
	if err := d.c.store.Want(d.c.ctx, now, d.rooms); err != nil {
		if d.c.ctx.Err() == nil {
			d.tell(session.Failed{Err: err})
		}
		return
	}
	w.beat, w.told = now, now
}

// unwant takes this process's wishes back: it subscribes by itself now, or ends.
func (d *driver) unwant(ctx context.Context) {
	if d.wanting.beat == 0 {
		return
	}
	d.wanting.beat = 0
	if err := d.c.store.Want(ctx, 0, nil); err != nil && d.c.ctx.Err() == nil {
		d.tell(session.Failed{Err: err})
	}
}

// hear takes in what other processes want, for the machine's next step: the app here wants nothing of it.
func (d *driver) hear() {
	w := &d.wanting
	now := d.c.opts.Now().Mono
	w.looked = now
	wishes, err := d.c.store.Wanted(d.c.ctx)
	if err != nil {
		return // told of by what needs the store
	}
	others, rooms := make(map[store.Handle]heard), make(map[string]int)
	for _, wish := range wishes {
		h, known := w.others[wish.Handle]
		if !known || h.beat != wish.Beat {
			h = heard{beat: wish.Beat, at: now}
		}
		if now-h.at > wishLasts {
			_ = d.c.store.Unwant(d.c.ctx, wish.Handle) // what is left is looked at again
			continue
		}
		others[wish.Handle] = h
		if most, ok := rooms[wish.Room]; !ok || wish.Rows > most {
			rooms[wish.Room] = wish.Rows
		}
	}
	for room, rows := range rooms {
		if !d.wants(room) {
			d.again = append(d.again, session.Subscribe{Room: room, Limit: rows})
		}
	}
	was := w.rooms
	w.others, w.rooms = others, rooms
	for room := range was {
		if !d.wants(room) {
			d.again = append(d.again, session.Unsubscribe{Room: room})
		}
	}
}

// wants reports whether rows of a room are wanted, here or by another process.
func (d *driver) wants(room string) bool {
	_, here := d.rooms[room]
	_, there := d.wanting.rooms[room]
	return here || there
}
