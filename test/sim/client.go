package sim

import (
	"context"
	"errors"
	"fmt"

	"hapax/client/ids"
	"hapax/client/session"
	"hapax/client/store"
	"hapax/client/store/memory"
)

// ctx is that of all calls: nothing here is ever cut short but by a crash.
var ctx = context.Background()

var (
	errDisk  = errors.New("sim: the disk failed")
	errCrash = errors.New("sim: the process died here")
)

// client is a device: its disk, which outlives all, and the process that runs on it. It drives the machine as package client
// does, without goroutines.
type client struct {
	w      *World
	name   string
	actor  string
	medium *memory.Medium
	jump   bool // ids jump by random bits: this disk is, or has, a copy

	life    int // of processes
	running bool
	st      store.Store
	other   store.Store // a second process on the same disk
	fence   int64
	m       *session.Machine
	issuer  *ids.Issuer
	born    int64 // w.now at the process's start
	wall    int64 // offset of the wall clock
	links   map[int64]*link

	inbox  []session.Input
	turn   bool // a turn is scheduled
	again  []session.Input
	wakes  int64 // counts Wakes, so that an earlier one is void
	inside bool  // the machine's store effects are under way: they may fail
	dying  bool

	sends   map[int64]*sending // by ticket
	tickets int64
	app     app
	open    map[opKey]*operation
	planted clientFault
}

// sending is a Send that has not returned.
type sending struct {
	said *said
	body store.Body
}

func (w *World) newClient(i int) *client {
	c := &client{
		w: w, name: fmt.Sprintf("c%d", i), actor: fmt.Sprintf("actor%d", i%w.Actors),
		medium: memory.NewMediumOf(ids.Device{byte(i + 1)}), links: map[int64]*link{},
	}
	c.app.init(c)
	return c
}

// clock reads the process's clock.
func (c *client) clock() session.Now {
	return session.Now{Wall: wallStart + c.w.now + c.wall, Mono: c.w.now - c.born + 1}
}

// alive reports whether the process of that life still runs.
func (c *client) alive(life int) bool { return c.running && c.life == life }

// start starts a process on the device's disk.
func (c *client) start() {
	c.life++
	c.running, c.dying, c.born = true, false, c.w.now
	c.links, c.sends = map[int64]*link{}, map[int64]*sending{}
	c.inbox, c.again, c.turn = nil, nil, false
	c.w.say(c.name, "process %d starts", c.life)
	opts := memory.Options{Limits: c.w.Session.Limits, Fault: c.diskFault}
	c.planted.opening(c)
	c.st = c.planted.wrap(c.w, memory.Open(c.medium, opts))
	c.other = memory.Open(c.medium, memory.Options{Limits: c.w.Session.Limits})
	c.issuer = ids.NewIssuer()
	c.reserve()
	if !c.running || !c.takeOver() {
		return
	}
	c.app.started()
}

// reserve takes a lease of few ids, so that leases are renewed often. The jump is left out where the mark alone has to
// keep ids apart.
func (c *client) reserve() {
	jump := uint64(0)
	if c.jump {
		jump = c.w.rnd.Uint64() >> (64 - ids.JumpBits)
	}
	l, err := c.st.Reserve(ctx, c.st.Device(), 8, jump)
	if err == nil {
		err = c.issuer.AddLease(l)
	}
	if err != nil {
		c.w.wrong("%s: no ids: %v", c.name, err)
	}
}

// takeOver takes the disk's lock and makes a machine of what the disk holds.
func (c *client) takeOver() bool {
	var load session.Load
	fence, err := c.st.Drain(ctx)
	if err == nil {
		load.Owner, err = c.st.Owner(ctx)
	}
	if err == nil {
		load.Rooms, err = c.st.Rooms(ctx)
	}
	if err == nil {
		load.Rows, err = c.st.List(ctx, 0, 1<<30)
		load.InDoubt = c.st.InDoubt()
	}
	if err != nil {
		c.w.wrong("%s: the store doesn't open: %v", c.name, err)
		return false
	}
	c.fence, c.open = fence, map[opKey]*operation{}
	cfg := c.w.Session
	cfg.Rand = c.w.rnd.Float64
	c.m = session.New(cfg, load)
	return true
}

// crash ends the process as kill -9 does. What it had handed to the network may still arrive.
func (c *client) crash() {
	if !c.running {
		return
	}
	c.w.say(c.name, "process %d dies", c.life)
	c.running = false
	c.medium.Crash()
	for _, n := range sortedKeys(c.links) {
		l := c.links[n]
		if c.w.luck(300) {
			l.upHole = true // the machine lost its power: nobody says goodbye
			c.w.after(minute, func() { c.w.server.gone(l) })
		} else {
			l.hangUp()
		}
		l.clientOpen = false
	}
	c.app.died()
	c.w.after(c.w.about(3*second), c.start)
}

// put gives the process an input. Those that come close together are taken in by one Step.
func (c *client) put(in ...session.Input) {
	c.inbox = append(c.inbox, in...)
	if c.turn {
		return
	}
	c.turn = true
	life := c.life
	c.w.after(c.w.up(4), func() {
		if c.alive(life) {
			c.turn = false
			in := c.inbox
			c.inbox = nil
			c.step(in)
		}
	})
}

// step has the machine judge what happened, and does what it says until nothing is left to be stored.
func (c *client) step(in []session.Input) {
	for {
		effects := c.m.Step(c.clock(), in...)
		in = nil
		res := c.run(effects)
		if c.dying {
			c.crash()
			return
		}
		if res != nil {
			in = append(in, res)
		}
		in = append(in, c.again...)
		c.again = nil
		if len(in) == 0 {
			break
		}
	}
	if c.m.Broken() != nil {
		c.reopen()
	}
}

// reopen is the app's way back after its disk failed: connect again, which makes a new machine.
func (c *client) reopen() {
	for _, n := range sortedKeys(c.links) {
		c.links[n].hangUp()
		c.links[n].clientOpen = false
	}
	c.links = map[int64]*link{}
	if err := c.st.Undrain(ctx); err != nil {
		c.w.wrong("%s: %v", c.name, err)
	}
	c.inbox = nil
	if c.takeOver() {
		c.w.say(c.name, "begins anew on its store")
		c.app.wishes()
	}
}

// diskFault is asked by the store before and after each change.
func (c *client) diskFault(string, bool) error {
	switch {
	case !c.inside:
		return nil
	case c.w.chance(c.w.MidCrash):
		c.dying = true
		c.w.seen["death within a store call"]++
		return errCrash
	case c.w.chance(c.w.DiskFails):
		c.w.seen["client's disk failed"]++
		return errDisk
	}
	return nil
}
