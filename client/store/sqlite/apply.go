//go:build !js

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"hapax/client/store"
)

// Drain implements store.Store.
func (s *Store) Drain(ctx context.Context) (fence int64, err error) {
	err = s.locked(ctx, func(d *db) error {
		if s.fence != 0 {
			return store.ErrDraining
		}
		ok, err := s.lock.TryLock()
		if err != nil {
			return fmt.Errorf("drainer's lock: %w", err)
		}
		if !ok {
			return store.ErrDraining
		}
		if fence, err = s.raise(d); err != nil {
			return errors.Join(err, s.lock.Unlock())
		}
		s.fence, s.weights = fence, nil
		return nil
	})
	if err != nil {
		return 0, err
	}
	return fence, nil
}

// raise is a drainer's first transaction.
func (s *Store) raise(d *db) (fence int64, err error) {
	err = d.write(func() error {
		return s.then(func(*db) error {
			n, err := d.counter("fence")
			if err != nil {
				return err
			}
			fence = n + 1
			if err := d.setMeta("fence", fence); err != nil {
				return err
			}
			s.doubt = nil
			err = d.query(func(st *sqlite3.Stmt) error {
				s.doubt = append(s.doubt, st.ColumnInt64(0))
				return nil
			}, `SELECT position FROM outbox WHERE state = 2 ORDER BY position`)
			if err != nil {
				return err
			}
			return d.exec(`UPDATE outbox SET state = 1, revision = revision + 1 WHERE state = 2`)
		})
	})
	return fence, err
}

// InDoubt implements store.Store.
func (s *Store) InDoubt() []int64 {
	var doubt []int64
	// A store that is closed has no row in doubt to tell of.
	_ = s.locked(context.Background(), func(*db) error { doubt = slices.Clone(s.doubt); return nil })
	return doubt
}

// Undrain implements store.Store.
func (s *Store) Undrain(ctx context.Context) error {
	return s.locked(ctx, func(*db) error { return s.undrain() })
}

func (s *Store) undrain() error {
	if s.fence == 0 {
		return nil
	}
	s.fence = 0
	return s.lock.Unlock()
}

// checkFence answers ErrFenced unless the fence is this handle's and the newest of the store.
func (s *Store) checkFence(fence int64) error {
	if fence == 0 || fence != s.fence {
		return store.ErrFenced
	}
	newest, err := s.db.counter("fence")
	if err == nil && newest != fence {
		err = store.ErrFenced
	}
	return err
}

// Apply implements store.Store.
func (s *Store) Apply(ctx context.Context, fence int64, changes []store.Change) ([]store.Result, error) {
	if err := store.CheckChanges(changes); err != nil {
		return nil, err
	}
	results := make([]store.Result, len(changes))
	err := s.writing(ctx, func(*db) error {
		if err := s.checkFence(fence); err != nil {
			return err
		}
		for i, c := range changes {
			var err error
			switch c := c.(type) {
			case store.Step:
				err = s.step(c, &results[i])
			case store.Confirm:
				err = s.confirm(c, &results[i])
			case store.Rows:
				err = s.advance(c, &results[i])
			case store.Snapshot:
				err = s.replace(c, &results[i])
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

func (s *Store) step(c store.Step, res *store.Result) error {
	r, err := s.row(`WHERE position = ?`, c.Position)
	if err != nil || r == nil {
		return err
	}
	res.Row, res.Applied = c.On(*r)
	if !res.Applied {
		return nil
	}
	return s.update(res.Row)
}

func (s *Store) confirm(c store.Confirm, res *store.Result) error {
	r, err := s.byKey(c.Key)
	if err != nil || r == nil {
		return err
	}
	owner, err := s.db.owner()
	if err != nil {
		return err
	}
	b, unreadable, err := s.body(*r)
	if err != nil {
		return err
	}
	res.Applied, res.Row = true, *r
	if unreadable != nil { // it was stored there, so its row is done with; the bytes are kept
		if err := s.setAside("outbox", "position", r.Position, unreadable); err != nil {
			return err
		}
		return s.keepReceipt(r.Key, c.Receipt())
	}
	if err := s.ack(c.Message(owner, b)); err != nil {
		return err
	}
	return s.confirmed(*r, c.Receipt())
}

// settle settles the outbox rows whose messages arrived.
func (s *Store) settle(arrived []store.Arrived, now int64, res *store.Result) error {
	for _, a := range arrived {
		if a.Fingerprint == "" {
			continue
		}
		r, err := s.byKey(store.Key{Room: a.Room, ID: a.ClientMessageID})
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		if r.Fingerprint == a.Fingerprint {
			res.Confirmed = append(res.Confirmed, *r)
			err = s.confirmed(*r, a.Receipt())
		} else if row, changed := r.Conflict(now); changed {
			res.Conflicts = append(res.Conflicts, row)
			err = s.update(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Evict implements store.Store.
func (s *Store) Evict(ctx context.Context, fence, now int64) (gone []store.Row, err error) {
	err = s.writing(ctx, func(d *db) error {
		if err := s.checkFence(fence); err != nil {
			return err
		}
		aside, err := s.rows(`WHERE state IN (3, 4) ORDER BY position`)
		if err != nil {
			return err
		}
		gone = s.limits.Evictable(aside, now)
		if len(gone) == 0 {
			return nil
		}
		for _, r := range gone {
			if err := s.remove(r); err != nil {
				return err
			}
		}
		n, err := d.counter("evicted")
		if err != nil {
			return err
		}
		return d.setMeta("evicted", n+int64(len(gone)))
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}
