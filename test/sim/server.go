package sim

import (
	"fmt"

	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/memory"
	"hapax/internal/wire"
	"hapax/protocol"
)

// wallStart is the Unix time at which runs begin; all clocks are right then.
const wallStart = int64(1_700_000_000_000)

// server does what wire and engine do, one thing after the other: it judges by the pure rules, commits in groups, acknowledges after
// the sync, and hands rows on after that. Between any two of these steps it may crash.
type server struct {
	w    *World
	wall int64 // offset of the clock

	disk   *memory.Disk // what is synced
	st     store.Store  // open on it
	backup *memory.Disk

	life     int
	up       bool
	broken   bool // a commit failed: nothing is answered until the next start
	draining bool
	peers    []*peer
	queue    []*waiting
	group    []*waiting   // being committed or answered
	unsynced *memory.Disk // what the disk may hold if the power fails now
	stage    string       // of the commit under way
	planted  serverFault
}

// waiting is a send that has no outcome yet.
type waiting struct {
	cmd  room.Command
	peer *peer
	ref  string
}

// peer is the server's side of a connection.
type peer struct {
	link    *link
	session *grant
	rooms   map[string]*listening
}

// listening is a subscription. Until the last page of a delta it is not live.
type listening struct {
	live bool
	only bool  // for sending
	from int64 // rows up to here were handed over
}

// Stages of a commit, between which the server may crash.
const (
	idle         = "idle"
	gathering    = "while a group waits"
	unsynced     = "before the sync"
	synced       = "after the sync, before the acks"
	acknowledged = "after the acks, before the rows"
)

func (s *server) now() int64 { return wallStart + s.w.now + s.wall }

// start opens the store.
func (s *server) start() {
	if s.up {
		return
	}
	s.life++
	s.up, s.broken, s.draining = true, false, false
	s.open(s.disk)
	s.w.say("server", "start %d, epoch %s", s.life, s.st.Identity().Epoch)
	s.w.ledger.observe(s)
}

func (s *server) open(d *memory.Disk) {
	st, err := memory.Open(d)
	if err != nil {
		s.w.wrong("server: open: %v", err)
		return
	}
	s.disk, s.st = d, s.planted.wrap(st)
}

// crash ends the server as a power cut does. Of a commit under way the disk keeps all or nothing.
func (s *server) crash() {
	if !s.up {
		return
	}
	kept := s.unsynced != nil && s.w.luck(400)
	s.w.seen[fmt.Sprintf("crash %s, kept %v", s.stage, kept)]++
	s.w.say("server", "crash; unsynced commit %v, kept %v", s.unsynced != nil, kept)
	s.stop()
	if kept {
		s.disk = s.unsynced
	}
	s.unsynced = nil
	s.w.after(s.w.about(3*second), s.start)
}

// stop ends the process and its connections.
func (s *server) stop() {
	s.up = false
	if err := s.st.Close(); err != nil {
		s.w.wrong("server: close: %v", err)
	}
	s.queue, s.group, s.stage = nil, nil, idle
	peers := s.peers
	s.peers = nil
	for _, p := range peers {
		if s.w.chance(300) {
			p.link.serverOpen, p.link.downHole = false, true // its machine is gone: nobody says goodbye
			continue
		}
		p.link.drop()
	}
}

// onLife keeps a deed to the process that planned it.
func (s *server) onLife(do func()) func() {
	life := s.life
	return func() {
		if s.up && s.life == life {
			do()
		}
	}
}

// drain takes the server down in good order: clients are told when to come back, and what is queued is finished.
func (s *server) drain() {
	if !s.up || s.draining {
		return
	}
	s.w.say("server", "drains")
	s.w.seen["drain"]++
	s.draining = true
	for _, p := range s.peers {
		e := wire.Error(protocol.Draining, "the server is going down", 1+s.w.up(5*second))
		p.tell(&e)
	}
	s.w.after(s.w.up(2*second), s.onLife(func() {
		s.stop()
		s.unsynced = nil
		s.w.after(s.w.about(3*second), s.start)
	}))
}

// cutSlowReader ends a connection that can't keep up. What waits for it is dropped.
func (s *server) cutSlowReader() {
	if len(s.peers) == 0 {
		return
	}
	p := s.peers[s.w.rnd.IntN(len(s.peers))]
	s.w.say("server", "cuts %s.%d, which reads too slowly", p.link.c.name, p.link.n)
	s.w.seen["slow reader cut"]++
	e := wire.Error(protocol.SlowReader, "", 1+s.w.up(second))
	s.hangUp(p, &e)
}

// purge drops what the policy no longer keeps. No commit is under way then: the engine's store does both in turn.
func (s *server) purge() {
	if !s.up || s.broken || s.group != nil {
		return
	}
	p := s.w.Policy
	done, err := s.st.Purge(ctx, store.Policy{
		ResultAgeMs: p.ResultAge, ResultRows: p.ResultRows, JournalAgeMs: p.JournalAge, JournalRows: p.JournalRows,
	}, s.now())
	if err != nil {
		s.w.wrong("server: purge: %v", err)
	}
	s.w.say("server", "purges %+v", done)
	s.w.seen["purged results"] += int(done.Results)
	s.w.seen["purged messages"] += int(done.Messages)
}

// checkpoint makes a backup; restore goes back to it, as another history.
func (s *server) checkpoint() {
	s.backup = s.disk.Copy()
	s.w.say("server", "makes a checkpoint")
}

func (s *server) restore() {
	if s.up {
		s.stop()
	}
	s.unsynced = nil
	s.w.say("server", "goes back to the checkpoint")
	s.w.seen["restore"]++
	s.disk = s.backup.Restored()
	s.w.after(s.w.up(5*second), s.start)
}

// accept takes a connection.
func (s *server) accept(l *link) {
	l.serverOpen = true
	l.peer = &peer{link: l, rooms: map[string]*listening{}}
	s.peers = append(s.peers, l.peer)
}

// gone is the end of a connection as the server learns of it.
func (s *server) gone(l *link) {
	l.serverOpen = false
	for i, p := range s.peers {
		if p.link == l {
			s.peers = append(s.peers[:i:i], s.peers[i+1:]...)
			return
		}
	}
}

// hangUp ends a connection with a last word.
func (s *server) hangUp(p *peer, e *protocol.Event) {
	p.tell(e)
	s.gone(p.link)
	p.link.drop()
}

// tell writes a frame.
func (p *peer) tell(e *protocol.Event) {
	if p.link.serverOpen {
		p.link.deliver(protocol.AppendEvent(nil, e))
	}
}
