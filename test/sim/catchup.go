package sim

import (
	"slices"

	"hapax/internal/engine"
	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/wire"
	"hapax/protocol"
)

// view reads the store; a failure is a fault of the run.
func (s *server) view(f func(store.View) error) {
	if err := s.st.View(ctx, f); err != nil {
		s.w.wrong("server: view: %v", err)
	}
}

func (s *server) rowsAfter(name string, after int64) (rows []room.Message, low int64) {
	s.view(func(v store.View) error {
		state, err := v.Room(name)
		if err != nil {
			return err
		}
		low = state.Low
		rows, _, err = v.After(name, after, 1<<30, 1<<30)
		return err
	})
	return rows, low
}

// subscribe answers a cursor, and joins the live rows with the last page.
func (s *server) subscribe(p *peer, cmd *protocol.Command) {
	if cmd.SendOnly {
		s.subscribeToSend(p, cmd)
		return
	}
	switch {
	case !p.session.may("r", cmd.Room):
		s.refuse(p, cmd, protocol.Forbidden)
		return
	case s.broken, s.w.chance(s.w.Refuse / 2):
		if p.rooms[cmd.Room] != nil {
			p.rooms[cmd.Room] = &listening{only: true}
		}
		s.refuse(p, cmd, protocol.Unavailable)
		return
	}
	var caught engine.Catchup
	s.view(func(v store.View) (err error) {
		caught, err = s.catchUp(v, cmd)
		return err
	})
	if s.w.fault == ShortDelta && !caught.Reset && !caught.More && len(caught.Messages) > 1 {
		caught.Messages = caught.Messages[:len(caught.Messages)-1]
		last := caught.Messages[len(caught.Messages)-1]
		p.rooms[cmd.Room] = &listening{live: true, from: caught.Head}
		caught.Head, caught.HeadID = last.Seq, last.MessageID
	} else {
		p.rooms[cmd.Room] = &listening{live: !caught.More, from: caught.Head}
	}
	e := wire.Caught(cmd.Room, caught, p.session.actor)
	e.Ref = cmd.Ref
	p.tell(&e)
}

// sendRooms is how many rooms a connection may be subscribed to for sending: few, so that some are let go.
const sendRooms = 2

func (s *server) subscribeToSend(p *peer, cmd *protocol.Command) {
	only := 0
	for _, l := range p.rooms {
		if l.only {
			only++
		}
	}
	l := p.rooms[cmd.Room]
	switch {
	case s.w.Old:
		s.w.wrong("%s asks an old server for live: false", p.link.c.name)
	case !p.session.may("w", cmd.Room):
		s.refuse(p, cmd, protocol.Forbidden)
		return
	case (l == nil || !l.only) && only >= sendRooms, s.w.chance(s.w.Refuse / 8):
		s.refuse(p, cmd, protocol.RateLimited)
		return
	}
	s.w.seen["subscribed for sending"]++
	p.rooms[cmd.Room] = &listening{only: true}
	p.tell(&protocol.Event{Type: protocol.TypeSubscribed, Ref: cmd.Ref, Room: cmd.Room})
}

func (s *server) catchUp(v store.View, cmd *protocol.Command) (a engine.Catchup, err error) {
	state, err := v.Room(cmd.Room)
	if err != nil {
		return a, err
	}
	epoch := s.st.Identity().Epoch
	a = engine.Catchup{Epoch: epoch, Head: state.Head, HeadID: state.HeadID}
	var cursor *room.Cursor
	id, held := "", false
	if c := cmd.Cursor; c != nil {
		cursor = &room.Cursor{Epoch: c.Epoch, After: c.After, MessageID: c.MessageID}
		if id, held, err = v.MessageID(cmd.Room, c.After); err != nil {
			return a, err
		}
	}
	fit := room.Resume(epoch, state, cursor, id, held)
	s.w.seen["resume "+fit.String()]++
	switch {
	case fit == room.Fits:
		a.Messages, a.More, err = v.After(cmd.Room, cursor.After, s.w.DeltaRows, 1<<20)
		if a.More {
			s.w.seen["delta with more behind it"]++
		}
		return a, err
	case fit.Alarm():
		s.w.wrong("%s at a cursor %+v that could not be right", fit, cursor)
	}
	a.Reset = true
	limit := s.w.Snapshot
	if cmd.Limit >= 0 {
		limit = min(limit, cmd.Limit)
	}
	if limit > 0 {
		a.Messages, _, err = v.Before(cmd.Room, state.Head+1, limit, 1<<20)
	}
	return a, err
}

// statusWait is how long a status waits for a send of its key that is under way.
const statusWait = 5 * second

func (s *server) status(p *peer, cmd *protocol.Command) {
	s.statusBy(p, cmd, s.w.now+statusWait)
}

func (s *server) statusBy(p *peer, cmd *protocol.Command, by int64) {
	key := idem.Key{Actor: p.session.actor, Room: cmd.Room, ID: cmd.ClientMessageID}
	o := room.Outcome{Kind: room.Unavailable}
	if !s.broken {
		o = s.look(key, cmd.SentAt)
	}
	if o.Kind != room.Duplicate && s.carries(key) {
		if s.w.now < by {
			s.w.after(50, s.onLife(func() { s.statusBy(p, cmd, by) }))
			return
		}
		o = room.Outcome{Kind: room.InProgress}
	}
	s.w.seen["status "+o.Kind.String()]++
	e := wire.Answer(o, key)
	e.Ref = cmd.Ref
	p.tell(&e)
}

func (s *server) look(key idem.Key, sentAt int64) room.Outcome {
	f := room.Facts{Now: s.now(), RetentionMs: s.w.Retention}
	s.view(func(v store.View) (err error) {
		if f.Prior, f.Known, err = v.Result(key); err != nil {
			return err
		}
		state, err := v.Room(key.Room)
		f.Horizon = state.Horizon
		return err
	})
	return room.Look(f, sentAt)
}

// carries reports whether a send of the key is queued or being stored.
func (s *server) carries(key idem.Key) bool {
	same := func(g *waiting) bool { return g.cmd.Key == key }
	return slices.ContainsFunc(s.queue, same) || slices.ContainsFunc(s.group, same)
}

func (s *server) history(p *peer, cmd *protocol.Command) {
	if !p.session.may("r", cmd.Room) {
		s.refuse(p, cmd, protocol.Forbidden)
		return
	}
	e := protocol.Event{Type: protocol.TypePage, Ref: cmd.Ref, Room: cmd.Room, Epoch: s.st.Identity().Epoch}
	s.view(func(v store.View) error {
		rows, more, err := v.Before(cmd.Room, cmd.Before, max(1, cmd.Limit), 1<<20)
		e.Messages, e.More = wire.Rows(rows, p.session.actor), more
		return err
	})
	p.tell(&e)
}
