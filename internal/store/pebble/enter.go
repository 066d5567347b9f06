package pebble

import (
	"context"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

var _ store.Books = (*Store)(nil)

// Enter carries out a batch of the gateway's commands: read the rows of its keys in their order on disk, take command after command on
// copies, write what changed in one batch, sync, and only then show it to readers. See store.Books.
func (s *Store) Enter(ctx context.Context, now int64, commands []gateway.Command) ([]gateway.Outcome, error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.give()
	if grows(commands) {
		if err := s.disk.room(); err != nil {
			return nil, err
		}
	}
	e, err := s.newEntering(now)
	if err != nil {
		return nil, err
	}
	if err := e.preload(commands); err != nil {
		return nil, err
	}
	outcomes := make([]gateway.Outcome, len(commands))
	for i, c := range commands {
		if outcomes[i], err = gateway.Take(e, now, c); err != nil {
			return nil, err // what it changed are e's copies
		}
	}
	if err := s.broken(); err != nil {
		return nil, err
	}
	batch := s.db.NewBatchWithSize(e.size())
	defer batch.Close()
	w := &writer{batch: batch, e: e}
	if err := w.rows(); err != nil {
		return nil, err
	}
	if batch.Empty() {
		return outcomes, nil // what was answered rests on synced rows only
	}
	return outcomes, s.applyBooks(w)
}

// applyBooks writes a batch of the gateway and shows it to readers. From here on what the store keeps in memory is ahead of the disk, so
// that whatever fails breaks the store.
func (s *Store) applyBooks(w *writer) error {
	due, err := w.dueMarks(s.w.due)
	if err != nil {
		return err
	}
	s.w.sums.commits++
	w.set(countsKey, appendCounts(nil, &s.w.sums))
	for _, key := range w.looked {
		s.w.recent.add(key, s.w.sums.commits)
	}
	s.w.due = due
	s.w.log = logEnd{w.e.head.Number, w.e.head.Hash}
	s.w.heldMarks.take(w)
	return s.apply(w.batch)
}

// ViewBooks calls f with the rows as of the last synced commit. Commits go on meanwhile. See store.Books.
func (s *Store) ViewBooks(ctx context.Context, f func(store.BooksView) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m, err := s.enter()
	if err != nil {
		return err
	}
	defer s.leave(m)
	head, err := loadHead(m.snapshot)
	if err != nil {
		return err
	}
	return f(&booksView{r: m.snapshot, head: head, due: m.due})
}

func loadHead(r lsm.Reader) (h gateway.Head, err error) {
	value, ok, err := get(r, headKey)
	if err != nil || !ok {
		return h, err
	}
	return readHead(value)
}

// grows tells whether commands bring something new into the store. What ends or notes a delivery, or speaks of the log, may go on where the disk is
// nearly full: the mark leaves room for that.
func grows(commands []gateway.Command) bool {
	for _, c := range commands {
		switch c.(type) {
		case *gateway.Event, *gateway.Register:
			return true
		}
	}
	return false
}
