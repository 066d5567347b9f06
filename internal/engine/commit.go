package engine

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"hapax/internal/fanout"
	"hapax/internal/room"
	"hapax/internal/store"
)

// Send implements Rooms. It is a command's first step: the look-up's rate, then the queue.
func (e *Engine) Send(cmd room.Command, done Completion) {
	var o room.Outcome
	if e.broken.Load() {
		o = e.turnedAway(room.Unavailable)
	} else if limited, ok := e.overLooks(cmd.Key.Actor); ok {
		o = limited
	} else if k := e.queue.push(&cmd, done); k != 0 {
		o = e.turnedAway(k)
	} else {
		return
	}
	e.stats.sent(o.Kind)
	done.Complete(o)
}

func (e *Engine) overLooks(actor string) (room.Outcome, bool) {
	if e.looks == nil {
		return room.Outcome{}, false
	}
	_, mono := e.o.Clock.Now()
	if wait, ok := e.looks.take(actor, mono); !ok {
		return room.Outcome{Kind: room.RateLimited, RetryAfterMs: milliseconds(wait)}, true
	}
	return room.Outcome{}, false
}

// commits takes group after group until the queue is drained.
func (e *Engine) commits() {
	defer close(e.committed)
	t := teller{e: e, touched: map[string]int{}}
	for e.queue.await() {
		// Those who were just answered, and whoever woke this goroutine, get to queue what they have: a sync is dear,
		// and the group is closed once it is taken.
		runtime.Gosched()
		g := e.queue.take()
		outcomes, err := e.commit(g)
		if err != nil {
			outcomes = e.unavailable(len(g.cmds))
		}
		t.tell(g, outcomes, err != nil)
		e.queue.done(g)
	}
}

// commit stores a group. An error means that nothing of it may be acknowledged.
func (e *Engine) commit(g *group) ([]room.Outcome, error) {
	if e.broken.Load() {
		return nil, store.ErrBroken
	}
	wall, began := e.o.Clock.Now()
	outcomes, err := e.store.Commit(e.ctx, &store.Batch{
		Now: wall, RetentionMs: e.o.RetentionMs, Commands: g.cmds, Judge: e.judge(g, began),
	})
	_, ended := e.o.Clock.Now()
	if err == nil && len(outcomes) != len(g.cmds) {
		err = fmt.Errorf("engine: the store gave %d outcomes for %d commands", len(outcomes), len(g.cmds))
	}
	e.stats.commit(ended-began, len(g.cmds), err)
	switch {
	case errors.Is(err, store.ErrFull): // the store says when that begins and ends
	case errors.Is(err, store.ErrAgain):
		e.o.Log.Warn("a commit failed; the store goes on", "commands", len(g.cmds), "error", err)
	case err != nil:
		e.fail(err)
	}
	return outcomes, err
}

// judge is room.Decide and then the sender's rate (docs/spec/protocol.md, Judging 9): only what would be stored costs a
// token. A store may repeat a transaction; a command pays once.
func (e *Engine) judge(g *group, mono time.Duration) store.Judge {
	at := -1
	return func(f room.Facts, c *room.Command) room.Outcome {
		o := room.Decide(f, c)
		at = g.index(c, at+1)
		if o.Kind != room.Accepted || at >= 0 && g.fresh[at].Load() {
			return o
		}
		if wait, ok := e.sends.take(c.Key.Actor, mono); !ok {
			return room.Outcome{Kind: room.RateLimited, RetryAfterMs: milliseconds(wait)}
		}
		if at >= 0 {
			g.fresh[at].Store(true)
		}
		return o
	}
}

// index finds a command by its address, near a guess first; -1 where a store judges a copy.
func (g *group) index(c *room.Command, guess int) int {
	if guess < len(g.cmds) && &g.cmds[guess] == c {
		return guess
	}
	for i := range g.cmds {
		if &g.cmds[i] == c {
			return i
		}
	}
	return -1
}

func (e *Engine) unavailable(n int) []room.Outcome {
	outcomes := make([]room.Outcome, n)
	for i := range outcomes {
		outcomes[i] = e.turnedAway(room.Unavailable)
	}
	return outcomes
}

// teller answers a group and hands its rows on. Its fields are used again and again.
type teller struct {
	e       *Engine
	to      flushes
	rooms   []touchedRoom
	touched map[string]int // name → index in rooms
}

type touchedRoom struct {
	name     string
	feed     *feed // nil where nobody listens here
	commands int64
	head     int64
	rows     []Row
}

// tell keeps the order: all answers, then the rows, then one flush each, then the hints.
func (t *teller) tell(g *group, outcomes []room.Outcome, failed bool) {
	for i, done := range g.dones {
		t.e.stats.sent(outcomes[i].Kind)
		done.Complete(outcomes[i])
		if c, ok := done.(Flusher); ok {
			if s := c.Flusher(); s != nil {
				t.to.add(s)
			}
		}
	}
	close(g.told)
	for i := range g.cmds {
		if failed || outcomes[i].Kind == room.Accepted {
			t.add(&g.cmds[i], &outcomes[i])
		}
	}
	for i := range t.rooms {
		switch r := &t.rooms[i]; {
		case r.feed != nil && failed && !t.e.broken.Load():
			r.feed.doubt(r.commands)
		case len(r.rows) > 0:
			r.feed.offer(r.rows, &t.to)
		}
	}
	t.to.flush()
	for i := range t.rooms {
		if !failed {
			t.e.bus.Publish(fanout.Hint{Room: t.rooms[i].name, Seq: t.rooms[i].head})
		}
	}
	clear(t.rooms)
	clear(t.touched)
	t.rooms = t.rooms[:0]
}

func (t *teller) add(c *room.Command, o *room.Outcome) {
	i, ok := t.touched[c.Key.Room]
	if !ok {
		i = len(t.rooms)
		t.touched[c.Key.Room] = i
		t.rooms = append(t.rooms, touchedRoom{name: c.Key.Room, feed: t.e.members.feed(c.Key.Room)})
	}
	r := &t.rooms[i]
	r.commands++
	if o.Kind != room.Accepted {
		return
	}
	if r.head = o.Result.Seq; r.feed != nil {
		r.rows = append(r.rows, committed(c, o))
	}
}
