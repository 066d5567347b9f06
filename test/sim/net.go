package sim

import (
	"errors"

	"hapax/client/session"
	"hapax/protocol"
)

var errCut = errors.New("connection lost")

// link is one connection. Bytes of a direction arrive in the order in which they were sent, each once, or from some moment on
// not at all: that is what TCP promises. What repeats is what a client sends again, and what an earlier connection still delivers.
type link struct {
	w    *World
	n    int64 // its number in the client's machine
	c    *client
	life int // of the client's process

	out     []outFrame // encoded, not yet handed to the network
	written int64      // number of the last frame handed over
	flushes bool       // a flush is on its way

	clientOpen, serverOpen bool
	upAt, downAt           int64 // when the last frame of a direction arrives
	upHole, downHole       bool  // nothing of a direction arrives any more
	peer                   *peer
}

type outFrame struct {
	n     int64
	cmd   protocol.Command
	bytes []byte
}

// dial starts a connection.
func (w *World) dial(c *client, n int64) {
	l := &link{w: w, n: n, c: c, life: c.life, clientOpen: true}
	c.links[n] = l
	w.after(w.travel(), func() {
		switch {
		case w.chance(w.DialFails / 3): // a hole: neither yes nor no comes back
		case !w.server.up || w.chance(w.DialFails):
			w.after(w.travel(), func() { l.lose(errors.New("connection refused")) })
		case l.clientOpen:
			w.server.accept(l)
			w.after(w.travel(), func() { l.tell(session.Connected{Conn: l.n}) })
		}
	})
}

// travel draws how long something is under way.
func (w *World) travel() int64 {
	if w.calm {
		return 1 + w.up(20)
	}
	return w.Delay + w.up(w.Jitter)
}

// tell gives the client's process an input, if it is still the process that dialled.
func (l *link) tell(in session.Input) {
	if l.clientOpen && l.c.alive(l.life) {
		l.c.put(in)
	}
}

// lose ends the connection at the client's end.
func (l *link) lose(err error) {
	l.tell(session.Lost{Conn: l.n, Written: l.written, Err: err})
	l.clientOpen = false
	if l.c.links[l.n] == l { // a later process may have a connection of that number
		delete(l.c.links, l.n)
	}
}

// close is the client's own wish. What it has handed to the network still arrives; then the server learns of the end.
func (l *link) close() {
	if !l.clientOpen {
		return
	}
	l.w.after(l.w.up(2), func() { l.lose(errCut) })
	l.hangUp()
}

// hangUp lets the server learn of the end after all that is under way.
func (l *link) hangUp() {
	l.upAt = max(l.upAt, l.w.now+l.w.travel())
	if !l.upHole {
		l.w.after(l.upAt-l.w.now, func() { l.w.server.gone(l) })
	}
}

// send queues frames of the client. They are handed to the network a little later, or not at all.
func (l *link) send(frames []outFrame) {
	l.out = append(l.out, frames...)
	if l.flushes || len(l.out) == 0 {
		return
	}
	l.flushes = true
	wait := l.w.up(3)
	if l.w.chance(10) {
		wait += l.w.up(12 * second) // the network takes nothing for a while
	}
	l.w.after(wait, l.flush)
}

func (l *link) flush() {
	l.flushes = false
	if !l.clientOpen || !l.c.alive(l.life) || len(l.out) == 0 {
		return
	}
	for _, f := range l.out {
		l.written = f.n
		l.c.handedOver(l, &f.cmd)
		if l.upHole {
			continue
		}
		l.upAt = max(l.upAt, l.w.now+l.w.travel())
		l.w.after(l.upAt-l.w.now, func() { l.w.server.receive(l, f.bytes) })
	}
	l.out = nil
	l.tell(session.Wrote{Conn: l.n, N: l.written})
}

// deliver sends a frame of the server.
func (l *link) deliver(frame []byte) {
	if l.downHole {
		return
	}
	l.downAt = max(l.downAt, l.w.now+l.w.travel())
	l.w.after(l.downAt-l.w.now, func() {
		if l.downHole || !l.clientOpen || !l.c.alive(l.life) {
			return
		}
		e, problem := protocol.DecodeEvent(frame)
		if problem != nil {
			l.w.wrong("the server wrote a frame that can't be decoded: %v: %s", problem, frame)
			return
		}
		l.w.say(l.c.name, "got %d %s", l.n, frame)
		l.c.answered(l, &e)
		l.tell(session.Received{Conn: l.n, Event: e})
	})
}

// drop ends the connection from the server's side: the client learns of it behind all that is under way to it.
func (l *link) drop() {
	l.serverOpen = false
	if l.downHole {
		return
	}
	l.downAt = max(l.downAt, l.w.now+l.w.travel())
	l.w.after(l.downAt-l.w.now, func() {
		if l.clientOpen {
			l.lose(errCut)
		}
	})
}

// cut breaks the connection in one of the ways in which connections break.
func (l *link) cut() {
	w := l.w
	how := w.rnd.IntN(5)
	w.say("net", "cut %s.%d in way %d", l.c.name, l.n, how)
	switch how {
	case 0: // both learn of it, what is under way is lost
		l.upHole, l.downHole = true, true
		w.after(w.travel(), func() { l.lose(errCut) })
		w.after(w.travel(), func() { w.server.gone(l) })
	case 1: // the client learns of it, what it sent still arrives, late perhaps
		l.downHole = true
		l.upAt = max(l.upAt, w.now+w.up(15*second))
		w.after(w.up(50), func() { l.lose(errCut) })
		l.hangUp()
	case 2: // nobody is told
		l.upHole, l.downHole = true, true
		w.after(minute, func() { w.server.gone(l) })
	case 3: // answers get lost, commands don't
		l.downHole = true
		w.after(minute, func() { w.server.gone(l) })
	case 4: // commands get lost, rows still come
		l.upHole = true
		w.after(minute, func() { w.server.gone(l) })
	}
}

// stall holds one direction up.
func (l *link) stall() {
	d := l.w.up(14 * second)
	if l.w.luck(500) {
		l.upAt = max(l.upAt, l.w.now+d)
	} else {
		l.downAt = max(l.downAt, l.w.now+d)
	}
	l.w.say("net", "stall %s.%d for %d ms", l.c.name, l.n, d)
}
