package memory

import (
	"context"
	"slices"

	"hapax/client/store"
)

// Add implements store.Store.
func (s *Store) Add(ctx context.Context, fence int64, entries []store.Entry) ([]store.Added, error) {
	if err := store.CheckEntries(fence, entries); err != nil {
		return nil, err
	}
	added := make([]store.Added, len(entries))
	err := s.write(ctx, "Add", func(m *Medium) error {
		if fence != 0 && !s.drains(fence) {
			return store.ErrFenced
		}
		queued := m.counts().Queued
		for i := range entries {
			e := &entries[i]
			var have *store.Row
			rec := m.keys[e.Key]
			if rec != nil {
				have = &rec.row
			}
			a, write := e.Admit(have, queued, s.limits.Queued, m.position+1)
			added[i] = a
			switch {
			case write && rec == nil:
				m.insert(a.Row, e.Body)
				queued++
			case write:
				m.set(rec, a.Row)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return added, nil
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, after int64, limit int) (rows []store.Row, err error) {
	err = s.read(ctx, "List", func(m *Medium) error {
		i, _ := slices.BinarySearch(m.order, after+1)
		for ; i < len(m.order) && len(rows) < limit; i++ {
			rows = append(rows, m.rows[m.order[i]].row)
		}
		return nil
	})
	return rows, err
}

// Find implements store.Store.
func (s *Store) Find(ctx context.Context, k store.Key) (row store.Row, ok bool, err error) {
	err = s.read(ctx, "Find", func(m *Medium) error {
		if rec := m.keys[k]; rec != nil {
			row, ok = rec.row, true
		}
		return nil
	})
	return row, ok, err
}

// Receipt implements store.Store.
func (s *Store) Receipt(ctx context.Context, k store.Key) (r store.Receipt, ok bool, err error) {
	err = s.read(ctx, "Receipt", func(m *Medium) error {
		r, ok = m.receipts[k]
		return nil
	})
	return r, ok, err
}

// Body implements store.Store.
func (s *Store) Body(ctx context.Context, position int64) (b store.Body, err error) {
	err = s.read(ctx, "Body", func(m *Medium) error {
		rec := m.rows[position]
		if rec == nil {
			return store.ErrNoRow
		}
		b = clone(rec.body)
		return nil
	})
	return b, err
}

// Export implements store.Store.
func (s *Store) Export(ctx context.Context, f func(store.Row, store.Body) error) error {
	return s.read(ctx, "Export", func(m *Medium) error {
		for _, p := range m.order {
			if err := f(m.rows[p].row, clone(m.rows[p].body)); err != nil {
				return err
			}
		}
		return nil
	})
}

// SetAside implements store.Store. There is never anything to tell: memory has no rows of other versions.
func (s *Store) SetAside(ctx context.Context, _ func(store.Aside) error) error {
	return s.read(ctx, "SetAside", func(*Medium) error { return nil })
}

// Counts implements store.Store.
func (s *Store) Counts(ctx context.Context) (c store.Counts, err error) {
	err = s.read(ctx, "Counts", func(m *Medium) error {
		c = m.counts()
		return nil
	})
	return c, err
}

func (m *Medium) counts() store.Counts {
	n := &m.states
	return store.Counts{
		Queued: n[store.Queued] + n[store.Sending], Sending: n[store.Sending], Parked: n[store.Parked],
		Uncertain: n[store.Uncertain], Evicted: m.evicted,
	}
}

// Cancel implements store.Store.
func (s *Store) Cancel(ctx context.Context, k store.Key) (store.Row, error) {
	return s.change(ctx, "Cancel", k, func(m *Medium, rec *record) error {
		if err := rec.row.Cancel(); err != nil {
			return err
		}
		m.remove(rec.row)
		return nil
	})
}

// Retry implements store.Store.
func (s *Store) Retry(ctx context.Context, k store.Key, sentAt int64) (store.Row, error) {
	return s.change(ctx, "Retry", k, func(m *Medium, rec *record) error {
		row, err := rec.row.Retry(sentAt)
		if err == nil {
			m.set(rec, row)
		}
		return err
	})
}

// Discard implements store.Store.
func (s *Store) Discard(ctx context.Context, k store.Key) (store.Row, error) {
	return s.change(ctx, "Discard", k, func(m *Medium, rec *record) error {
		m.remove(rec.row)
		return nil
	})
}

// change runs f on the row of a key and returns the row as it then is, or was when it was removed. With an error of f it
// returns the row that stood in the way.
func (s *Store) change(ctx context.Context, method string, k store.Key, f func(*Medium, *record) error) (row store.Row, err error) {
	err = s.write(ctx, method, func(m *Medium) error {
		rec := m.keys[k]
		if rec == nil {
			return store.ErrNoRow
		}
		err := f(m, rec)
		row = rec.row
		return err
	})
	return row, err
}
