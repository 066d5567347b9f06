package sim

import (
	"errors"
	"fmt"

	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/memory"
	"hapax/internal/wire"
	"hapax/protocol"
)

// send is Judging 3, then the queue.
func (s *server) send(p *peer, cmd *protocol.Command) {
	_, subscribed := p.rooms[cmd.Room]
	switch {
	case !p.session.may("w", cmd.Room):
		s.refuse(p, cmd, protocol.Forbidden)
	case !subscribed && p.session.may("r", cmd.Room):
		s.refuse(p, cmd, protocol.NotSubscribed)
	case s.draining:
		s.refuse(p, cmd, protocol.Draining)
	case s.broken, s.w.chance(s.w.Refuse / 2):
		s.refuse(p, cmd, protocol.Unavailable)
	default:
		s.queue = append(s.queue, &waiting{wire.Command(p.session.actor, cmd), p, cmd.Ref})
		s.kick()
	}
}

// kick starts a commit where none is under way: commits are serial.
func (s *server) kick() {
	if s.group != nil || len(s.queue) == 0 {
		return
	}
	n := 1 + s.w.rnd.IntN(min(len(s.queue), s.w.Group))
	s.group, s.stage = s.queue[:n:n], gathering
	wait := s.w.up(5)
	if s.w.chance(s.w.SlowCommit) {
		wait = s.w.up(20 * second)
	}
	s.w.after(wait, s.onLife(s.commit))
}

// commit judges and stores a group, on a copy of the disk that becomes the disk once it is synced. What came while the group
// waited joins it, as far as there is room.
func (s *server) commit() {
	n := min(len(s.queue), max(len(s.group), s.w.Group))
	s.group, s.queue = s.queue[:n:n], s.queue[n:]
	next := s.disk.Copy()
	st, err := memory.Open(next)
	if err != nil {
		s.w.wrong("server: %v", err)
		return
	}
	outcomes, err := s.planted.wrap(st).Commit(ctx, s.batch())
	if err != nil || len(outcomes) != n {
		s.w.wrong("server: commit: %v, %d outcomes of %d", err, len(outcomes), n)
		return
	}
	if err := st.Close(); err != nil {
		s.w.wrong("server: %v", err)
	}
	for i, o := range outcomes {
		s.w.say("server", "judges %s %s: %s %d", s.group[i].cmd.Key.Actor, s.group[i].cmd.Key.ID, o.Kind, o.Result.Seq)
		s.w.seen["judged "+o.Kind.String()]++
	}
	s.unsynced, s.stage = next, unsynced
	if s.w.fault == AckBeforeSync {
		s.acknowledge(outcomes)
	}
	s.w.after(s.w.up(30), s.onLife(func() {
		if !s.dies() {
			s.synced(outcomes)
		}
	}))
}

// dies lets the server crash in the middle of a commit, where the plan says so.
func (s *server) dies() bool {
	if s.w.chance(s.w.MidCommit) {
		s.crash()
		return true
	}
	return false
}

func (s *server) batch() *store.Batch {
	b := &store.Batch{Now: s.now(), RetentionMs: s.w.Retention, Judge: func(f room.Facts, c *room.Command) room.Outcome {
		o := room.Decide(f, c)
		if o.Kind == room.Accepted && s.w.chance(s.w.Refuse) { // Judging 9
			return room.Outcome{Kind: room.RateLimited, RetryAfterMs: 1 + s.w.up(3*second)}
		}
		return o
	}}
	for _, g := range s.group {
		b.Commands = append(b.Commands, g.cmd)
	}
	return b
}

var errUnsynced = errors.New("sim: the sync failed")

// synced is the end of the commit: the copy is the disk now, or the commit failed, with which nobody knows what the disk kept.
func (s *server) synced(outcomes []room.Outcome) {
	failed := s.w.chance(s.w.CommitFails)
	if !failed || s.w.luck(300) {
		if err := s.st.Close(); err != nil {
			s.w.wrong("server: %v", err)
		}
		s.open(s.unsynced)
		s.w.ledger.observe(s)
	} else {
		s.planted.failed(s, outcomes)
	}
	s.unsynced, s.stage = nil, synced
	if failed {
		s.failed()
		return
	}
	s.w.after(s.w.up(3), s.onLife(func() {
		if s.dies() {
			return
		}
		if s.w.fault != AckBeforeSync {
			s.acknowledge(outcomes)
		}
		s.stage = acknowledged
		s.w.after(s.w.up(3), s.onLife(func() {
			if !s.dies() {
				s.handOn()
			}
		}))
	}))
}

// failed answers a group whose commit failed: nothing of it is acknowledged. Some stores go on after that, others have to be
// opened anew.
func (s *server) failed() {
	goesOn := s.w.luck(500)
	s.w.say("server", "%v; goes on: %v", errUnsynced, goesOn)
	s.w.seen[fmt.Sprintf("commit failed, goes on %v", goesOn)]++
	for _, g := range s.group {
		s.answer(g, room.Outcome{Kind: room.Unavailable})
	}
	if goesOn {
		s.handOn() // rows that were stored all the same
		return
	}
	s.broken = true
	for _, g := range s.queue {
		s.answer(g, room.Outcome{Kind: room.Unavailable})
	}
	s.group, s.queue, s.stage = nil, nil, idle
	s.w.after(s.w.up(5*second), s.onLife(s.crash))
}

// acknowledge answers the group.
func (s *server) acknowledge(outcomes []room.Outcome) {
	for i, g := range s.group {
		s.answer(g, outcomes[i])
	}
}

func (s *server) answer(g *waiting, o room.Outcome) {
	e := wire.Answer(o, g.cmd.Key)
	e.Ref = g.ref
	if e.Type == protocol.TypeAck {
		s.w.book.acked(&g.cmd, &e)
	}
	g.peer.tell(&e)
}

// handOn gives the rooms' new rows to their subscribers, from what is synced, and goes on with the next group.
func (s *server) handOn() {
	s.group, s.stage = nil, idle
	for _, p := range s.peers {
		for _, name := range sortedKeys(p.rooms) {
			if r := p.rooms[name]; r.live {
				s.handTo(p, name, r)
			}
		}
	}
	s.kick()
}

func (s *server) handTo(p *peer, name string, r *listening) {
	rows, _ := s.rowsAfter(name, r.from)
	for i := range rows {
		m := wire.Rows(rows[i:i+1], p.session.actor)[0]
		m.Room, m.Epoch = name, s.st.Identity().Epoch
		p.tell(&protocol.Event{Type: protocol.TypeMessage, Message: m})
		r.from = m.Seq
	}
}
