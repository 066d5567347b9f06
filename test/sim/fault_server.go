package sim

import (
	"context"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// Fault is a planted fault.
type Fault int

// The faults that can be planted. The zero Fault is none.
const (
	_                 Fault = iota
	AckBeforeSync           // the server acknowledges once it has judged
	KeyWithoutMessage       // the key is on the disk before its message is
	SeqBeforeCommit         // a failed commit leaves a hole
	InFlightRepeat          // of a commit, each command is judged without those before it
	ShortDelta              // a delta ends one row short, and says so nowhere
	AckMovesCursor          // a client's store takes an ack for a row of the stream
	SendingBelieved         // a client takes rows found sending for sent
	MarkLowered             // a client's mark goes back to what was used
)

// serverFault plants faults in what the server believes to be its store.
type serverFault struct {
	fault Fault
	keys  map[idem.Key]idem.Result // KeyWithoutMessage: on the disk before the commit
	holes map[string][]int64       // SeqBeforeCommit: for each seq lost, the store's seq before it
}

func (f *serverFault) wrap(st store.Store) store.Store {
	switch f.fault {
	case KeyWithoutMessage, InFlightRepeat:
		return &misjudging{st, f}
	case SeqBeforeCommit:
		return &holed{st, f}
	}
	return st
}

// failed is a commit of which nothing was stored.
func (f *serverFault) failed(s *server, outcomes []room.Outcome) {
	if f.fault != SeqBeforeCommit {
		return
	}
	if f.holes == nil {
		f.holes = map[string][]int64{}
	}
	for i, g := range s.group {
		if name := g.cmd.Key.Room; outcomes[i].Kind == room.Accepted {
			s.view(func(v store.View) error {
				state, err := v.Room(name)
				f.holes[name] = append(f.holes[name], f.inner(name, state.Head))
				return err
			})
		}
	}
}

// misjudging is a store that gives its judge wrong facts.
type misjudging struct {
	store.Store
	f *serverFault
}

func (m *misjudging) Commit(c context.Context, b *store.Batch) ([]room.Outcome, error) {
	heads := map[string]int64{}
	err := m.View(c, func(v store.View) error {
		for _, cmd := range b.Commands {
			state, err := v.Room(cmd.Key.Room)
			if err != nil {
				return err
			}
			heads[cmd.Key.Room] = state.Head
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	judge, wrong := b.Judge, *b
	wrong.Judge = func(f room.Facts, cmd *room.Command) room.Outcome {
		if m.f.fault == InFlightRepeat {
			f.Known = f.Known && f.Prior.Seq <= heads[cmd.Key.Room]
		} else if prior, ok := m.f.keys[cmd.Key]; ok && !f.Known {
			f.Known, f.Prior = true, prior
		}
		return judge(f, cmd)
	}
	outcomes, err := m.Store.Commit(c, &wrong)
	if m.f.keys == nil {
		m.f.keys = map[idem.Key]idem.Result{}
	}
	for i, o := range outcomes {
		if o.Kind == room.Accepted {
			m.f.keys[b.Commands[i].Key] = o.Result
		}
	}
	return outcomes, err
}

// holed is a store whose seqs were counted before the commit. Only what shows in the log is wrong: that is where it is found.
type holed struct {
	store.Store
	f *serverFault
}

// outer is a seq as the counter gave it, inner as the store has it.
func (f *serverFault) outer(name string, seq int64) int64 {
	n := seq
	for _, before := range f.holes[name] {
		if before < seq {
			n++
		}
	}
	return n
}

func (f *serverFault) inner(name string, outer int64) int64 {
	seq := outer
	for seq > 0 && f.outer(name, seq) > outer {
		seq--
	}
	return seq
}

func (h *holed) Commit(c context.Context, b *store.Batch) ([]room.Outcome, error) {
	outcomes, err := h.Store.Commit(c, b)
	for i := range outcomes {
		outcomes[i].Result.Seq = h.f.outer(b.Commands[i].Key.Room, outcomes[i].Result.Seq)
	}
	return outcomes, err
}

func (h *holed) View(c context.Context, f func(store.View) error) error {
	return h.Store.View(c, func(v store.View) error { return f(holedView{v, h.f}) })
}

type holedView struct {
	store.View
	f *serverFault
}

func (v holedView) Room(name string) (room.State, error) {
	s, err := v.View.Room(name)
	s.Head, s.Low = v.f.outer(name, s.Head), v.f.outer(name, s.Low)
	return s, err
}

func (v holedView) Rooms(after string, limit int) ([]store.RoomHead, error) {
	rooms, err := v.View.Rooms(after, limit)
	for i := range rooms {
		rooms[i].State.Head = v.f.outer(rooms[i].Name, rooms[i].State.Head)
	}
	return rooms, err
}

func (v holedView) After(name string, after int64, limit, maxBytes int) ([]room.Message, bool, error) {
	rows, more, err := v.View.After(name, v.f.inner(name, after), limit, maxBytes)
	for i := range rows {
		rows[i].Seq = v.f.outer(name, rows[i].Seq)
	}
	return rows, more, err
}
