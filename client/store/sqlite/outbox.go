//go:build !js

package sqlite

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"hapax/client/store"
)

// Add implements store.Store.
func (s *Store) Add(ctx context.Context, fence int64, entries []store.Entry) (added []store.Added, err error) {
	if err := store.CheckEntries(fence, entries); err != nil {
		return nil, err
	}
	err = s.writing(ctx, func(d *db) error {
		if fence != 0 {
			if err := s.checkFence(fence); err != nil {
				return err
			}
		}
		added, err = s.add(entries)
		return err
	})
	if err != nil {
		return nil, err
	}
	return added, nil
}

func (s *Store) add(entries []store.Entry) ([]store.Added, error) {
	// AUTOINCREMENT's own table knows the greatest position ever given, so that none is given twice.
	last, err := s.db.int(`SELECT seq FROM sqlite_sequence WHERE name = 'outbox'`)
	if err != nil {
		return nil, err
	}
	queued, err := s.queued(last, len(entries))
	if err != nil {
		return nil, err
	}
	added := make([]store.Added, len(entries))
	for i := range entries {
		e := &entries[i]
		have, err := s.byKey(e.Key)
		if err != nil {
			return nil, err
		}
		a, write := e.Admit(have, int(queued), s.limits.Queued, last+1)
		added[i] = a
		switch {
		case write && have == nil:
			queued, last = queued+1, last+1
			err = s.insert(a.Row, e.Body)
		case write:
			err = s.update(a.Row)
		}
		if err != nil {
			return nil, err
		}
	}
	return added, nil
}

// queued returns how many rows are queued, or, where that is far from the limit, a number above it that costs no counting:
// there can't be more rows than positions.
func (s *Store) queued(last int64, more int) (int64, error) {
	first, err := s.db.int(`SELECT min(position) FROM outbox`)
	if err != nil {
		return 0, err
	}
	if most := last - first + 1; first == 0 {
		return 0, nil
	} else if most+int64(more) <= int64(s.limits.Queued) {
		return most, nil
	}
	return s.db.int(`SELECT count(*) FROM outbox WHERE state IN (1, 2)`)
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, after int64, limit int) (rows []store.Row, err error) {
	err = s.reading(ctx, func(*db) error {
		rows, err = s.rows(`WHERE position > ? ORDER BY position LIMIT ?`, after, max(limit, 0))
		return err
	})
	return rows, err
}

// Find implements store.Store.
func (s *Store) Find(ctx context.Context, k store.Key) (row store.Row, ok bool, err error) {
	err = s.reading(ctx, func(*db) error {
		r, err := s.byKey(k)
		if r != nil {
			row, ok = *r, true
		}
		return err
	})
	return row, ok, err
}

// Receipt implements store.Store.
func (s *Store) Receipt(ctx context.Context, k store.Key) (r store.Receipt, ok bool, err error) {
	err = s.reading(ctx, func(d *db) error {
		return d.query(func(st *sqlite3.Stmt) error {
			r, ok = store.Receipt{MessageID: st.ColumnText(0), Seq: st.ColumnInt64(1), Epoch: st.ColumnText(2), At: st.ColumnInt64(3)}, true
			return nil
		}, `SELECT message_id, seq, epoch, at FROM receipts WHERE room = ? AND id = ?`, k.Room, k.ID)
	})
	return r, ok, err
}

// confirmed removes a row that the server has, and keeps its receipt.
func (s *Store) confirmed(r store.Row, receipt store.Receipt) error {
	if err := s.remove(r); err != nil {
		return err
	}
	return s.keepReceipt(r.Key, receipt)
}

func (s *Store) keepReceipt(k store.Key, r store.Receipt) error {
	err := s.db.exec(`INSERT OR REPLACE INTO receipts (room, id, message_id, seq, epoch, at) VALUES (?, ?, ?, ?, ?, ?)`,
		k.Room, k.ID, r.MessageID, r.Seq, r.Epoch, r.At)
	if err != nil {
		return err
	}
	return s.db.exec(`DELETE FROM receipts WHERE n <= (SELECT max(n) FROM receipts) - ?`, s.limits.Receipts)
}

// Body implements store.Store.
func (s *Store) Body(ctx context.Context, position int64) (b store.Body, err error) {
	var unreadable error
	err = s.reading(ctx, func(*db) error {
		r, err := s.row(`WHERE position = ?`, position)
		if err != nil {
			return err
		}
		if r == nil {
			return store.ErrNoRow
		}
		b, unreadable, err = s.body(*r)
		return err
	})
	if err != nil || unreadable == nil {
		return b, err
	}
	if err := s.writing(ctx, func(*db) error { return s.setAside("outbox", "position", position, unreadable) }); err != nil {
		return store.Body{}, err
	}
	return store.Body{}, fmt.Errorf("%w: %w", store.ErrUnreadable, unreadable)
}

// exportPage is how many rows Export holds at once.
const exportPage = 64

// Export implements store.Store. Rows whose body can't be read are set aside when it is done: one must not hide the others.
func (s *Store) Export(ctx context.Context, f func(store.Row, store.Body) error) error {
	bad := map[int64]error{}
	err := s.reading(ctx, func(*db) error {
		for after := int64(0); ; {
			rows, err := s.rows(`WHERE position > ? ORDER BY position LIMIT ?`, after, exportPage)
			if err != nil || len(rows) == 0 {
				return err
			}
			for _, r := range rows {
				after = r.Position
				b, unreadable, err := s.body(r)
				switch {
				case err != nil:
					return err
				case unreadable != nil:
					bad[r.Position] = unreadable
				default:
					if err := f(r, b); err != nil {
						return err
					}
				}
			}
		}
	})
	if err != nil || len(bad) == 0 {
		return err
	}
	return s.writing(ctx, func(*db) error { return s.setAllAside("outbox", "position", bad) })
}

// Counts implements store.Store.
func (s *Store) Counts(ctx context.Context) (c store.Counts, err error) {
	err = s.reading(ctx, func(d *db) error {
		err := d.query(func(st *sqlite3.Stmt) error {
			n := st.ColumnInt(1)
			switch store.State(st.ColumnInt(0)) {
			case store.Queued:
				c.Queued += n
			case store.Sending:
				c.Queued += n
				c.Sending = n
			case store.Parked:
				c.Parked = n
			case store.Uncertain:
				c.Uncertain = n
			}
			return nil
		}, `SELECT state, count(*) FROM outbox GROUP BY state`)
		if err != nil {
			return err
		}
		aside, err := d.int(`SELECT count(*) FROM aside`)
		if err != nil {
			return err
		}
		c.SetAside = int(aside)
		c.Evicted, err = d.counter("evicted")
		return err
	})
	return c, err
}

// Cancel implements store.Store.
func (s *Store) Cancel(ctx context.Context, k store.Key) (store.Row, error) {
	return s.change(ctx, k, func(r *store.Row) error {
		if err := r.Cancel(); err != nil {
			return err
		}
		return s.remove(*r)
	})
}

// Retry implements store.Store.
func (s *Store) Retry(ctx context.Context, k store.Key, sentAt int64) (store.Row, error) {
	return s.change(ctx, k, func(r *store.Row) (err error) {
		if *r, err = r.Retry(sentAt); err != nil {
			return err
		}
		return s.update(*r)
	})
}

// Discard implements store.Store.
func (s *Store) Discard(ctx context.Context, k store.Key) (store.Row, error) {
	return s.change(ctx, k, func(r *store.Row) error { return s.remove(*r) })
}

// change runs f on the row of a key and returns the row as f leaves it. With an error of f it returns the row that stood
// in the way.
func (s *Store) change(ctx context.Context, k store.Key, f func(*store.Row) error) (row store.Row, err error) {
	err = s.writing(ctx, func(*db) error {
		r, err := s.byKey(k)
		if err != nil {
			return err
		}
		if r == nil {
			return store.ErrNoRow
		}
		err = f(r)
		row = *r
		return err
	})
	return row, err
}
