package memory

import (
	"context"
	"slices"

	"hapax/client/store"
)

// Drain implements store.Store.
func (s *Store) Drain(ctx context.Context) (fence int64, err error) {
	err = s.write(ctx, "Drain", func(m *Medium) error {
		if m.drainer != nil {
			return store.ErrDraining
		}
		m.fence++
		m.drainer, s.fence, fence = s, m.fence, m.fence
		s.doubt = nil
		for _, p := range m.order {
			if rec := m.rows[p]; rec.row.State == store.Sending {
				s.doubt = append(s.doubt, rec.row.Position)
				m.set(rec, rec.row.Requeue())
			}
		}
		return nil
	})
	return fence, err
}

// InDoubt implements store.Store.
func (s *Store) InDoubt() []int64 {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return slices.Clone(s.doubt)
}

// Undrain implements store.Store.
func (s *Store) Undrain(ctx context.Context) error {
	return s.read(ctx, "Undrain", func(*Medium) error {
		s.undrain()
		return nil
	})
}

// drains reports whether the fence is this handle's and the newest.
func (s *Store) drains(fence int64) bool { return fence != 0 && fence == s.fence && fence == s.m.fence }

// Apply implements store.Store.
func (s *Store) Apply(ctx context.Context, fence int64, changes []store.Change) ([]store.Result, error) {
	if err := store.CheckChanges(changes); err != nil {
		return nil, err
	}
	results := make([]store.Result, len(changes))
	err := s.write(ctx, "Apply", func(m *Medium) error {
		if !s.drains(fence) {
			return store.ErrFenced
		}
		for i, c := range changes {
			switch c := c.(type) {
			case store.Step:
				results[i] = m.step(c)
			case store.Confirm:
				results[i] = m.confirm(c, s.limits)
			case store.Rows:
				results[i] = m.advance(c, s.limits)
			case store.Snapshot:
				results[i] = m.replace(c, s.limits)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

func (m *Medium) step(c store.Step) store.Result {
	rec := m.rows[c.Position]
	if rec == nil {
		return store.Result{}
	}
	row, ok := c.On(rec.row)
	m.set(rec, row)
	return store.Result{Applied: ok, Row: row}
}

func (m *Medium) confirm(c store.Confirm, l store.Limits) store.Result {
	rec := m.keys[c.Key]
	if rec == nil {
		return store.Result{}
	}
	v := m.view(c.Room)
	m.ack(v, c.Message(m.owner, rec.body))
	m.trim(v, l)
	m.confirmed(rec.row, c.Receipt(), l.Receipts)
	return store.Result{Applied: true, Row: rec.row}
}

// settle settles the outbox rows whose messages arrived.
func (m *Medium) settle(arrived []store.Arrived, now int64, receipts int, res *store.Result) {
	for _, a := range arrived {
		rec := m.keys[store.Key{Room: a.Room, ID: a.ClientMessageID}]
		if a.Fingerprint == "" || rec == nil {
			continue
		}
		if rec.row.Fingerprint == a.Fingerprint {
			m.confirmed(rec.row, a.Receipt(), receipts)
			res.Confirmed = append(res.Confirmed, rec.row)
		} else if row, changed := rec.row.Conflict(now); changed {
			m.set(rec, row)
			res.Conflicts = append(res.Conflicts, row)
		}
	}
}

// Evict implements store.Store.
func (s *Store) Evict(ctx context.Context, fence, now int64) (gone []store.Row, err error) {
	err = s.write(ctx, "Evict", func(m *Medium) error {
		if !s.drains(fence) {
			return store.ErrFenced
		}
		var aside []store.Row
		for _, p := range m.order {
			if r := m.rows[p].row; r.Aside() {
				aside = append(aside, r)
			}
		}
		gone = slices.Clone(s.limits.Evictable(aside, now))
		for _, r := range gone {
			m.remove(r)
		}
		m.evicted += int64(len(gone))
		return nil
	})
	return gone, err
}
