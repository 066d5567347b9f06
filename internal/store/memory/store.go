package memory

import (
	"context"
	"strconv"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// Store is a store.Store on a Disk.
type Store struct {
	disk   *Disk
	life   string // first part of every messageId of this opening
	issued uint64
	closed bool // under disk.mu
}

var _ store.Store = (*Store)(nil)

// New opens a fresh disk.
func New() *Store {
	s, err := Open(NewDisk(nil))
	if err != nil {
		panic(err) // a fresh disk is never in use
	}
	return s
}

// Open opens a disk. It returns store.ErrLocked while another Store has it open.
func Open(d *Disk) (*Store, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open {
		return nil, store.ErrLocked
	}
	d.open = true
	return &Store{disk: d, life: d.names()}, nil
}

// Identity returns the disk's server id and epoch.
func (s *Store) Identity() store.Identity { return s.disk.identity }

// Close lets the disk be opened again.
func (s *Store) Close() error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if !s.closed {
		s.closed, s.disk.open = true, false
	}
	return nil
}

// Commit judges and applies a batch. See store.Store.
func (s *Store) Commit(ctx context.Context, b *store.Batch) ([]room.Outcome, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	outcomes := make([]room.Outcome, len(b.Commands))
	for i := range b.Commands {
		outcomes[i] = s.judge(b, &b.Commands[i])
	}
	return outcomes, nil
}

// ready says why a call can't be served. The disk's lock is held.
func (s *Store) ready(ctx context.Context) error {
	if s.closed {
		return store.ErrClosed
	}
	return ctx.Err()
}

func (s *Store) judge(b *store.Batch, cmd *room.Command) room.Outcome {
	l := s.disk.rooms[cmd.Key.Room]
	if l == nil {
		l = &ledger{results: map[idem.Key]idem.Result{}}
	}
	facts := room.Facts{Now: b.Now, RetentionMs: b.RetentionMs, Horizon: l.state.Horizon, Head: l.state.Head}
	facts.Prior, facts.Known = l.results[cmd.Key]
	if cmd.Follows != "" {
		_, facts.FollowsHeld = l.results[idem.Key{Actor: cmd.Key.Actor, Room: cmd.Key.Room, ID: cmd.Follows}]
	}
	out := b.Judge(facts, cmd)
	if out.Kind != room.Accepted {
		return out
	}
	if l.state.Head >= room.MaxSeq {
		return room.Outcome{Kind: room.Full}
	}
	s.disk.rooms[cmd.Key.Room] = l
	out.Result = s.append(l, b.Now, cmd)
	return out
}

func (s *Store) append(l *ledger, now int64, cmd *room.Command) idem.Result {
	s.issued++
	res := idem.Result{
		Fingerprint: cmd.Fingerprint,
		MessageID:   s.life + "-" + strconv.FormatUint(s.issued, 36),
		Seq:         l.state.Head + 1,
		Epoch:       s.disk.identity.Epoch,
		At:          now,
	}
	l.state.Head, l.state.HeadID = res.Seq, res.MessageID
	l.results[cmd.Key] = res
	l.kept = append(l.kept, keptResult{key: cmd.Key, at: now})
	l.rows = append(l.rows, room.Message{
		Seq: res.Seq, MessageID: res.MessageID, Actor: cmd.Key.Actor, ID: cmd.Key.ID,
		Text: cmd.Text, Data: clone(cmd.Data), At: now,
	})
	return res
}

// clone keeps a caller's buffer from changing what is stored. No data is nil.
func clone(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	return append([]byte(nil), data...)
}

// Stats counts what is held. Bytes is a rough sum of texts and data.
func (s *Store) Stats(ctx context.Context) (store.Stats, error) {
	s.disk.mu.RLock()
	defer s.disk.mu.RUnlock()
	if err := s.ready(ctx); err != nil {
		return store.Stats{}, err
	}
	st := store.Stats{Rooms: int64(len(s.disk.rooms))}
	for _, l := range s.disk.rooms {
		st.Messages += int64(len(l.rows))
		st.Results += int64(len(l.results))
		for i := range l.rows {
			st.Bytes += int64(len(l.rows[i].Text) + len(l.rows[i].Data))
		}
	}
	return st, nil
}
