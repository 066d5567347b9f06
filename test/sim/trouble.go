package sim

import (
	"fmt"

	"hapax/client/session"
	"hapax/client/store"
	"hapax/client/store/memory"
	"hapax/protocol"
)

// act is one thing that an app does.
func (a *app) act() {
	c := a.c
	if !c.running || c.m.Broken() != nil {
		return
	}
	room := c.w.roomName(c.w.rnd.IntN(c.w.Rooms))
	switch n := c.w.rnd.IntN(100); {
	case n < 60:
		for range 1 + c.w.rnd.IntN(c.w.Burst) {
			a.send(room)
		}
	case n < 76:
		a.touchRow(n)
	case n < 82:
		a.subscribe(room)
	case n < 86:
		delete(a.rooms, room)
		c.put(session.Unsubscribe{Room: room})
	case n < 88:
		if err := c.st.Forget(ctx, room); err != nil {
			c.w.wrong("%s: forget: %v", c.name, err)
		}
		delete(a.read, room)
		c.put(session.Forgot{Room: room})
	case n < 90:
		a.online = !a.online
		if a.online {
			c.put(session.Connect{})
		} else {
			c.put(session.Disconnect{})
		}
	case n < 92:
		c.put(session.NewToken{}, session.Visible{})
	case n < 96:
		a.ask(room)
	default:
		a.share(room)
	}
}

func (w *World) roomName(i int) string { return fmt.Sprintf("room %c", 'a'+i) }

func (a *app) subscribe(room string) {
	a.rooms[room] = a.c.w.rnd.IntN(12) - 1
	a.c.put(session.Subscribe{Room: room, Limit: a.rooms[room]})
}

// touchRow does something to a row of the outbox.
func (a *app) touchRow(n int) {
	c := a.c
	rows, err := c.other.List(ctx, 0, 1<<30)
	if err != nil || len(rows) == 0 {
		return
	}
	r := rows[c.w.rnd.IntN(len(rows))]
	st := c.st
	if c.w.luck(300) {
		st = c.other
	}
	switch {
	case n < 65:
		a.retry(r.Key)
	case n < 68:
		a.remove(st, r.Key, false)
	case n < 69:
		a.remove(st, r.Key, true)
	case n < 72:
		c.put(session.TryNow{Room: r.Room})
	default:
		if b, err := c.other.Body(ctx, r.Position); err == nil {
			a.resend(r.Key, b.Text)
		}
	}
}

// ask puts a question that the machine carries to the server.
func (a *app) ask(room string) {
	c := a.c
	c.tickets++
	cmd := protocol.Command{Type: protocol.TypeHistory, Room: room, Before: protocol.MaxSeq, Limit: 1 + c.w.rnd.IntN(20)}
	if said := c.w.book.order; len(said) > 0 && c.w.luck(500) {
		cmd = protocol.Command{Type: protocol.TypeStatus, Room: room, ClientMessageID: said[c.w.rnd.IntN(len(said))].ID, Limit: -1}
	}
	c.put(session.Ask{Ticket: c.tickets, Command: cmd})
}

// share says something under an id from elsewhere, which another device of the actor uses too: for the same thing, or another.
func (a *app) share(room string) {
	c := a.c
	k := store.Key{Room: room, ID: fmt.Sprintf("shared-%d", c.w.rnd.IntN(4))}
	text := "shared"
	if c.w.luck(200) {
		text = "shared, otherwise"
	}
	s := c.w.book.note(c, k, text)
	s.shared, s.stepped = true, true
	a.resend(k, text)
}

// startTroubles schedules all that goes wrong.
func (w *World) startTroubles() {
	for _, c := range w.clients {
		w.every(w.Op, c.app.act)
		w.every(w.ClientCrash, c.crash)
		w.every(w.ClientJump, func() {
			c.wall += w.up(6*hour) - 3*hour
			w.say(c.name, "clock jumps to %d", c.wall)
		})
		w.every(w.Cut, func() { w.pickLink(c, (*link).cut) })
		w.every(w.Stall, func() { w.pickLink(c, (*link).stall) })
		w.every(w.Rights, func() { w.changeRights(c.actor) })
	}
	w.every(w.ServerCrash, w.server.crash)
	w.every(w.Drain, w.server.drain)
	w.every(w.Purge, w.server.purge)
	w.every(w.SlowReader, w.server.cutSlowReader)
	w.every(w.ServerJump, func() {
		w.server.wall += w.up(4*hour) - 2*hour
		w.say("server", "clock jumps to %d", w.server.wall)
	})
	w.every(w.Copy, w.copyDevice)
	if w.Restore {
		w.after(w.up(w.Trouble/2), w.server.checkpoint)
		w.after(w.Trouble/2+w.up(w.Trouble/3), w.server.restore)
	}
}

// pickLink does something to one of a client's connections.
func (w *World) pickLink(c *client, do func(*link)) {
	for _, n := range sortedKeys(c.links) {
		do(c.links[n])
		return
	}
}

// copyDevice copies a device's disk whole to another, which then goes on by itself: with what is queued, and with ids that must not
// be those of the original.
func (w *World) copyDevice() {
	from := w.clients[w.rnd.IntN(len(w.clients))]
	if len(w.clients) >= 5 || w.Linear {
		return
	}
	to := w.newClient(len(w.clients))
	to.actor, to.medium = from.actor, from.medium.Copy()
	from.jump, to.jump = true, true
	to.planted = from.planted.copied()
	rows, err := memory.Open(to.medium, memory.Options{}).List(ctx, 0, 1<<30)
	if err != nil {
		w.wrong("copy of %s: %v", from.name, err)
	}
	for _, r := range rows {
		s := w.book.said[bookKey{from.actor, r.Key}]
		s.shared, s.stepped = true, true
		if s.uncertain[from.name] {
			s.uncertain[to.name] = true
		}
	}
	w.clients = append(w.clients, to)
	w.seen["copied device"]++
	w.say("people", "copy the disk of %s to %s", from.name, to.name)
	to.start()
	w.every(w.Op, to.app.act)
	w.every(w.ClientCrash, to.crash)
}
