package client

import (
	"context"
	"errors"
	"time"

	"hapax/client/session"
	"hapax/client/store"
)

// driver runs the machine: one goroutine that takes in what happened, has the machine judge it, and carries its effects out
// in their order. Without the store's lock it has no machine and only hands new rows to the process that has.
type driver struct {
	c     *Client
	m     *session.Machine // nil while another handle drains the store
	fence int64

	gen     int64 // of machines: what an earlier one's connections still say is dropped
	calling bool  // the app's token function was called, and has not returned
	conns   map[int64]*link
	frames  chan session.Input // from the connections' goroutines
	timer   *time.Timer
	stop    context.CancelFunc // of the connections
	ctx     context.Context
	bodies  map[int64]Body // by position, of rows just stored
	cached  int            // bytes of bodies
	pending map[int64]sending
	asks    map[int64]question
	again   []session.Input // for the next Step
	behind  bool            // the machine is to be given all rows

	connect bool           // the app's wishes, for the machine after the next
	rooms   map[string]int // room → rows of a snapshot
	wanting wanting
}

func newDriver(c *Client) *driver {
	return &driver{
		c: c, conns: make(map[int64]*link), frames: make(chan session.Input, framesAhead), bodies: make(map[int64]Body),
		pending: make(map[int64]sending), asks: make(map[int64]question), rooms: make(map[string]int),
	}
}

// framesAhead is how many inputs of connections wait before their readers do: back-pressure that reaches the server.
const framesAhead = 256

// inspect asks for the machine's counts.
type inspect struct {
	session.Unask // makes it an input
	done          chan Stats
}

// post is a Send on its way to the machine.
type post struct {
	session.Send
	sending
}

// loop runs until the client is closed.
func (d *driver) loop(first []session.Input) {
	defer close(d.c.done)
	d.timer = time.NewTimer(time.Hour)
	defer d.timer.Stop()
	poll := time.NewTicker(d.c.opts.Poll)
	defer poll.Stop()
	d.step(first)
	for {
		var in []session.Input
		select {
		case <-d.c.ctx.Done():
			d.end()
			return
		case <-d.c.box.signal:
		case f := <-d.frames:
			in = d.fromConn(in, f)
		case <-d.timer.C:
		case <-poll.C:
			in = d.look(in)
		}
		in = append(in, d.c.box.take()...)
		for range framesAhead { // what came meanwhile shares one sync
			select {
			case f := <-d.frames:
				in = d.fromConn(in, f)
				continue
			default:
			}
			break
		}
		d.step(in)
	}
}

// step has the machine judge what happened, and does what it says until nothing is left to be stored.
func (d *driver) step(in []session.Input) {
	in = d.note(in)
	if d.m == nil {
		d.follow(in)
		return
	}
	d.reopen(in)
	for {
		effects := d.m.Step(d.c.opts.Now(), in...)
		in = nil
		if res := d.run(effects); res != nil {
			in = append(in, res)
		}
		if d.behind {
			d.behind = false
			d.reread() // only now, as the rows must hold all that the effects stored
		}
		in = append(in, d.again...)
		d.again = nil
		if len(in) == 0 {
			break
		}
	}
	d.publish()
	if errors.Is(d.m.Broken(), store.ErrFenced) {
		d.demote()
	}
}

// note remembers what the app wants, and who waits for an answer. What is left is for the machine.
func (d *driver) note(in []session.Input) []session.Input {
	out := in[:0:len(in)]
	for _, i := range in {
		switch i := i.(type) {
		case post:
			d.pending[i.Ticket] = i.sending
			out = append(out, i.Send)
			continue
		case question:
			d.asks[i.Ticket] = i
			out = append(out, i.Ask)
			continue
		case inspect:
			if d.m == nil {
				i.done <- Stats{}
			} else {
				i.done <- d.m.Stats()
			}
			continue
		case session.Unask:
			delete(d.asks, i.Ticket)
		case session.Connect:
			d.connect = true
		case session.Disconnect:
			d.connect = false
		case session.Subscribe:
			d.rooms[i.Room] = i.Limit
		case session.Unsubscribe:
			delete(d.rooms, i.Room)
			if d.m != nil && d.wants(i.Room) {
				continue // another process goes on reading it
			}
		}
		out = append(out, i)
	}
	return out
}

// publish tells the app's goroutines how things stand.
func (d *driver) publish() {
	now := d.c.opts.Now()
	limits, broken := d.m.Limits(), d.m.Broken()
	t, welcomed := d.m.ServerTime(now)
	d.c.shared.set(func(s *shared) {
		s.limits, s.broken = limits, broken
		if welcomed {
			s.welcomed, s.offset = true, t-now.Mono
		}
	})
}

func (s *shared) set(f func(*shared)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// end leaves nothing behind: connections closed, all who wait answered.
func (d *driver) end() {
	d.hangUp()
	d.unwant(context.Background())
	d.c.hub.close()
	d.note(d.c.box.close()) // so that who waits is known
	for _, s := range d.pending {
		s.done <- added{err: ErrClosed}
	}
	for _, q := range d.asks {
		q.done <- session.Answer{Err: ErrClosed}
	}
}
