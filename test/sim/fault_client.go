package sim

import (
	"context"

	"hapax/client/ids"
	"hapax/client/store"
	"hapax/client/store/memory"
)

// clientFault plants faults in what a client's process believes to be its store.
type clientFault struct {
	fault Fault
	mark  []byte // MarkLowered: as it was before the last lease
}

// opening is called before a process opens its device's disk.
func (f *clientFault) opening(c *client) {
	if f.fault == MarkLowered && f.mark != nil {
		for d := range c.medium.Marks() {
			c.medium.SetMark(d, f.mark)
		}
	}
}

func (f *clientFault) copied() clientFault { return clientFault{fault: f.fault} }

func (f *clientFault) wrap(w *World, st *memory.Store) store.Store {
	switch f.fault {
	case AckMovesCursor:
		return &movingCursor{st, w}
	case SendingBelieved:
		return &believing{Store: st, sent: map[int64]bool{}}
	case MarkLowered:
		return &lowering{st, f}
	}
	return st
}

// movingCursor takes a confirmed row for one of the stream: the cursor goes up to it.
type movingCursor struct {
	store.Store
	w *World
}

func (m *movingCursor) Apply(c context.Context, fence int64, changes []store.Change) ([]store.Result, error) {
	results, err := m.Store.Apply(c, fence, changes)
	if err != nil {
		return results, err
	}
	for i, ch := range changes {
		ack, ok := ch.(store.Confirm)
		if !ok || !results[i].Applied {
			continue
		}
		v, held, err := m.Room(c, ack.Room)
		if err != nil || !held || v.Cursor.Epoch != ack.Epoch || v.Cursor.After >= ack.Seq {
			continue
		}
		rows, err := m.View(c, ack.Room, ack.Seq+1, 1<<30)
		if err != nil {
			return results, err
		}
		moved := store.Snapshot{Room: ack.Room, Cursor: v.Cursor, Now: ack.At}
		moved.Cursor.After, moved.Cursor.MessageID = ack.Seq, ack.MessageID
		for _, r := range rows {
			r.ClientMessageID = ""
			moved.Messages = append(moved.Messages, store.Arrived{Message: r.Message})
		}
		if _, err := m.Store.Apply(c, fence, []store.Change{moved}); err != nil {
			m.w.wrong("planting: %v", err)
		}
	}
	return results, nil
}

// believing doesn't show rows that an earlier process left sending.
type believing struct {
	store.Store
	sent map[int64]bool
}

func (b *believing) Drain(c context.Context) (int64, error) {
	rows, err := b.Store.List(c, 0, 1<<30)
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		if r.State == store.Sending {
			b.sent[r.Position] = true
		}
	}
	return b.Store.Drain(c)
}

func (b *believing) List(c context.Context, after int64, limit int) (shown []store.Row, err error) {
	rows, err := b.Store.List(c, after, limit)
	for _, r := range rows {
		if !b.sent[r.Position] {
			shown = append(shown, r)
		}
	}
	return shown, err
}

// lowering remembers the mark that the next process will find.
type lowering struct {
	*memory.Store
	f *clientFault
}

func (l *lowering) Reserve(c context.Context, d ids.Device, n, jump uint64) (ids.Lease, error) {
	l.f.mark = l.Medium().Marks()[d]
	return l.Store.Reserve(c, d, n, jump)
}
