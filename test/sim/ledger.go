package sim

import (
	"hapax/client/store"
	"hapax/internal/room"
	journal "hapax/internal/store"
	"hapax/protocol"
	"hapax/test/check"
)

// ledger is all that was ever synced, by epoch and room, also what aged out since. It is read from the store each time the disk
// changes, so that a row which the store once had can't vanish unseen.
type ledger struct {
	epoch string // the present one
	logs  map[string]map[string][]check.Row
	fork  map[string]int64 // room → seq up to which a restore kept the rows of the epoch before
	lost  map[bookKey]bool // what a restore took away
}

func (l *ledger) observe(s *server) {
	epoch := s.st.Identity().Epoch
	heads := map[string]room.State{}
	s.view(func(v journal.View) error {
		rooms, err := v.Rooms("", 1<<30)
		for _, r := range rooms {
			heads[r.Name] = r.State
		}
		return err
	})
	if epoch != l.epoch {
		l.begin(epoch, heads)
	}
	for _, name := range sortedKeys(heads) {
		l.extend(s, name, heads[name].Head)
	}
	for name, rows := range l.logs[epoch] {
		if n := int64(len(rows)); heads[name].Head < n {
			s.w.wrong("%s: the store has head %d, but had %d", name, heads[name].Head, n)
		}
	}
}

// begin opens the log of an epoch: what the store kept of the one before.
func (l *ledger) begin(epoch string, heads map[string]room.State) {
	old := l.logs[l.epoch]
	if l.logs == nil {
		l.logs = map[string]map[string][]check.Row{}
	}
	l.logs[epoch], l.fork = map[string][]check.Row{}, map[string]int64{}
	l.lost = map[bookKey]bool{}
	for name, rows := range old {
		n := min(heads[name].Head, int64(len(rows)))
		l.logs[epoch][name], l.fork[name] = rows[:n:n], n
		for _, r := range rows[n:] {
			l.lost[rowKey(name, r)] = true
		}
	}
	l.epoch = epoch
}

func rowKey(name string, r check.Row) bookKey {
	return bookKey{r.Actor, store.Key{Room: name, ID: r.ID}}
}

func (l *ledger) extend(s *server, name string, head int64) {
	have := l.logs[l.epoch][name]
	n := int64(len(have))
	if head == n {
		return
	}
	rows, low := s.rowsAfter(name, n)
	if low > n {
		s.w.wrong("%s: rows up to %d aged out, but were never seen past %d", name, low, n)
	}
	for _, r := range rows {
		if n++; r.Seq != n {
			s.w.wrong("%s: seq %d where %d was due", name, r.Seq, n)
			return
		}
		have = append(have, check.Row{Seq: r.Seq, MessageID: r.MessageID, Actor: r.Actor, ID: r.ID, Text: r.Text})
	}
	l.logs[l.epoch][name] = have
}

// acked notes an ack that the server sends.
func (b *book) acked(c *room.Command, e *protocol.Event) {
	b.acks = append(b.acks, ack{
		key: bookKey{c.Key.Actor, store.Key{Room: c.Key.Room, ID: c.Key.ID}}, text: c.Text,
		messageID: e.MessageID, epoch: e.Epoch, seq: e.Seq, duplicate: e.Duplicate,
	})
}
