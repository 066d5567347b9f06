package sim

import (
	"hapax/client/store"
)

// reading is how far an app has read a room in its store's feed, by a position of its own.
type reading struct {
	position int64
	replaced int64
	epoch    string
	last     int64 // seq
	rows     int64
}

func (a *app) readSoon() {
	if a.due {
		return
	}
	a.due = true
	a.c.w.after(a.c.w.up(200), a.c.onLife(func() {
		a.due = false
		a.readAll()
	}))
}

// readAll reads what the store has for the app. However often it was told, or not told, each row comes once and in order.
func (a *app) readAll() {
	rooms, err := a.c.other.Rooms(ctx)
	if err != nil {
		a.c.w.wrong("%s: rooms: %v", a.c.name, err)
	}
	for _, v := range rooms {
		r := a.read[v.Room]
		if r == nil {
			r = &reading{}
			a.read[v.Room] = r
		}
		if v.Replaced > r.replaced {
			a.readAnew(v, r)
		} else {
			a.readOn(v, r)
		}
	}
}

// readAnew reads a view that was replaced.
func (a *app) readAnew(v store.Room, r *reading) {
	*r = reading{position: v.Replaced, replaced: v.Replaced, epoch: v.Cursor.Epoch, last: v.Cursor.After}
	rows, err := a.c.other.View(ctx, v.Room, 0, 1<<30)
	if err != nil {
		a.c.w.wrong("%s: view: %v", a.c.name, err)
	}
	for _, m := range rows {
		r.position = max(r.position, m.Position)
	}
}

func (a *app) readOn(v store.Room, r *reading) {
	rows, _, err := a.c.other.Feed(ctx, v.Room, r.position, 1<<30)
	if err != nil {
		a.c.w.wrong("%s: feed: %v", a.c.name, err)
	}
	for _, m := range rows {
		if m.Position <= r.position || m.Epoch != r.epoch || m.Seq != r.last+1 {
			a.c.w.wrong("%s: after row %d of %s in %s the feed has row %d of %s", a.c.name, r.last, r.epoch, v.Room, m.Seq, m.Epoch)
			return
		}
		r.position, r.last = m.Position, m.Seq
		r.rows++
	}
}
