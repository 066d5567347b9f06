package sim

import (
	"fmt"

	"hapax/client/session"
	"hapax/client/store"
)

// calmWithin bounds how long a calm world takes until all that can be delivered is. The longest waits are a row's delay (5 min),
// that of a reconnect (1 min, and what the server asked for), and the pace of a backlog.
const calmWithin = 30 * minute

// Run runs a plan with a planted fault (0: none) and returns the world, judged. keep lines of the trace are kept; below 0: all.
func Run(p Plan, f Fault, keep int) *World {
	w := newWorld(p, f, keep)
	w.server.start()
	for _, c := range w.clients {
		for i := range w.Rooms {
			if w.luck(700) {
				c.app.rooms[w.roomName(i)] = w.rnd.IntN(12) - 1
			}
		}
		c.start()
	}
	w.startTroubles()
	w.runTo(w.Trouble)
	if len(w.faults) == 0 {
		w.calmDown()
	}
	if len(w.faults) == 0 {
		w.judge()
	}
	return w
}

// Faults are what the judge found.
func (w *World) Faults() []string { return w.faults }

// calmDown ends all trouble and waits until everything is where it belongs.
func (w *World) calmDown() {
	w.calm = true
	w.say("people", "all is calm")
	for _, of := range w.tokens.rights {
		for room := range of {
			of[room] = "rw"
		}
	}
	for _, c := range w.clients {
		c.app.online = true
		if c.running {
			c.put(session.NewToken{}, session.Connect{})
		}
	}
	w.tend()
	w.runTo(w.now + calmWithin)
	if len(w.faults) == 0 && !w.done {
		w.wrong("after %d minutes of calm: %s", calmWithin/minute, w.unsettled())
	}
	w.done = false
	w.runTo(w.now + 20*second) // nothing comes after
}

// tend has the apps do now and then what only they can: rows that had no answer often enough hold their room until they say so.
func (w *World) tend() {
	for _, c := range w.clients {
		if !c.running {
			continue
		}
		c.look()
		rows, err := c.other.List(ctx, 0, 1<<30)
		if err != nil {
			w.wrong("%s: %v", c.name, err)
			return
		}
		for _, r := range rows {
			if r.State == store.Parked && r.Reason == session.ReasonAttempts {
				c.app.retry(r.Key)
			}
		}
	}
	if w.done = w.unsettled() == ""; !w.done {
		w.after(3*second, w.tend)
	}
}

// unsettled names something that isn't yet where it belongs.
func (w *World) unsettled() string {
	if !w.server.up || w.server.broken {
		return "the server is down"
	}
	for _, c := range w.clients {
		if !c.running {
			return c.name + " is down"
		}
		if c.m.State() != session.Online {
			return fmt.Sprintf("%s is %s", c.name, c.m.State())
		}
		counts, err := c.other.Counts(ctx)
		if err != nil || counts.Queued > 0 {
			rows, _ := c.other.List(ctx, 0, 1<<30) // only for the message
			return fmt.Sprintf("%s (clock %+v) has %d rows queued (%v): %+v", c.name, c.clock(), counts.Queued, err, rows)
		}
		for _, room := range sortedKeys(c.app.rooms) {
			v, _, err := c.other.Room(ctx, room)
			if head := int64(len(w.ledger.logs[w.ledger.epoch][room])); err != nil || v.Cursor.Epoch != w.ledger.epoch || v.Cursor.After != head {
				return fmt.Sprintf("%s is at %+v in %s, whose head is %d of %s (%v)", c.name, v.Cursor, room, head, w.ledger.epoch, err)
			}
		}
	}
	return ""
}

func newWorld(p Plan, f Fault, keep int) *World {
	w := &World{Plan: p, fault: f, rnd: newRand(p.Seed), trace: trace{keep: keep}, seen: map[string]int{}}
	w.book.init()
	w.tokens = tokens{given: map[string]*grant{}, rights: map[string]map[string]string{}}
	w.server = &server{w: w, disk: newDisk(), planted: serverFault{fault: f}}
	for i := range p.Clients {
		c := w.newClient(i)
		c.planted.fault = f
		w.clients = append(w.clients, c)
		w.tokens.rights[c.actor] = map[string]string{}
		for r := range p.Rooms {
			w.tokens.rights[c.actor][w.roomName(r)] = "rw"
		}
	}
	return w
}
