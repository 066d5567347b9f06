//go:build !js

package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"hapax/client/ids"
	"hapax/client/store"
)

// meta reads a named value: string, int64, []byte, or nil where there is none.
func (d *db) meta(name string) (value any, err error) {
	err = d.query(func(s *sqlite3.Stmt) error {
		value = column(s, 0)
		return nil
	}, `SELECT value FROM meta WHERE name = ?`, name)
	return value, err
}

// counter reads a named number.
func (d *db) counter(name string) (int64, error) {
	v, err := d.meta(name)
	if err != nil {
		return 0, err
	}
	n, ok := v.(int64)
	if !ok || n < 0 {
		return 0, fmt.Errorf("%w: %s is %v", store.ErrCorrupt, name, v)
	}
	return n, nil
}

func (d *db) setMeta(name string, value any) error {
	return d.exec(`INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
}

// column reads a value of any type, copied.
func column(s *sqlite3.Stmt, i int) any {
	switch s.ColumnType(i) {
	case sqlite3.INTEGER:
		return s.ColumnInt64(i)
	case sqlite3.FLOAT:
		return s.ColumnFloat(i)
	case sqlite3.TEXT:
		return s.ColumnText(i)
	case sqlite3.BLOB:
		return s.ColumnBlob(i, []byte{})
	}
	return nil
}

// reading runs f in a read transaction.
func (s *Store) reading(ctx context.Context, f func(*db) error) error {
	return s.locked(ctx, func(d *db) error { return d.read(func() error { return s.then(f) }) })
}

// writing runs f in a write transaction.
func (s *Store) writing(ctx context.Context, f func(*db) error) error {
	return s.locked(ctx, func(d *db) error { return d.write(func() error { return s.then(f) }) })
}

// then runs f if the store is still as this handle opened it: another process may have brought it to a newer version, or sealed it,
// and what this one would write then could not be read.
func (s *Store) then(f func(*db) error) error {
	v, err := s.db.int(`PRAGMA user_version`)
	if err != nil {
		return err
	}
	if int(v) != s.report.To {
		return fmt.Errorf("%w (its version became %d)", store.ErrIncompatible, v)
	}
	if err := s.checkKey(); err != nil {
		return err
	}
	return f(s.db)
}

func (s *Store) locked(ctx context.Context, f func(*db) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	s.busy.ctx = ctx
	err := f(s.db)
	if !errors.Is(err, store.ErrBusy) {
		return err
	}
	select {
	case <-s.closing:
		return store.ErrClosed
	default:
		return errors.Join(err, ctx.Err())
	}
}

// Device implements store.Store.
func (s *Store) Device() ids.Device { return s.device }

// Report implements store.Store.
func (s *Store) Report() store.Report { return s.report }

// Owner implements store.Store.
func (s *Store) Owner(ctx context.Context) (o store.Owner, err error) {
	err = s.reading(ctx, func(d *db) error {
		o, err = d.owner()
		return err
	})
	return o, err
}

// owner reads whom the store belongs to: by its first welcome, or by who opened it first.
func (d *db) owner() (o store.Owner, err error) {
	var noted string
	for name, to := range map[string]*string{"actor": &o.Actor, "server": &o.Server, "opened_by": &noted} {
		v, err := d.meta(name)
		if err != nil {
			return o, err
		}
		text, ok := v.(string)
		if !ok && (v != nil || to != &noted) {
			return o, fmt.Errorf("%w: %s is %v", store.ErrCorrupt, name, v)
		}
		*to = text
	}
	if o.Actor == "" {
		o.Actor = noted
	}
	return o, nil
}

// claims judges whether the actor for whom the store is opened is to be noted.
func (d *db) claims(c store.Claimant) (notes bool, err error) {
	o, err := d.owner()
	if err != nil {
		return false, err
	}
	rows, err := d.int(`SELECT EXISTS (SELECT 1 FROM outbox)`)
	if err != nil {
		return false, err
	}
	return c.Notes(o, rows != 0)
}

// claim notes the actor where the store is nobody's, and whether its rows are.
func (s *Store) claim() error {
	return s.db.write(func() error {
		notes, err := s.db.claims(s.claimant)
		if err == nil && notes {
			err = s.db.setMeta("opened_by", s.claimant.Actor)
		}
		if err != nil || s.claimant.Actor != "" {
			return err
		}
		o, err := s.db.owner()
		if err != nil || o.Actor != "" {
			return err
		}
		n, err := s.db.int(`SELECT EXISTS (SELECT 1 FROM outbox)`)
		s.unowned = n != 0
		return err
	})
}

// Bind implements store.Store.
func (s *Store) Bind(ctx context.Context, o store.Owner) error {
	if err := o.Check(); err != nil {
		return err
	}
	return s.writing(ctx, func(d *db) error {
		have, err := d.owner()
		switch {
		case err != nil || have == o:
			return err
		case !have.Is(o):
			return store.ErrWrongStore
		case have.Actor == "" && s.unowned:
			return store.ErrUnowned
		}
		if err := d.setMeta("actor", o.Actor); err != nil {
			return err
		}
		return d.setMeta("server", o.Server)
	})
}

// Reserve implements store.Store.
func (s *Store) Reserve(ctx context.Context, device ids.Device, n, jump uint64) (l ids.Lease, err error) {
	err = s.writing(ctx, func(d *db) error {
		mark, err := s.mark(device)
		if err != nil {
			return err
		}
		if l, err = ids.Reserve(device, mark, n, jump); err != nil {
			return err
		}
		last, err := l.Last()
		if err != nil {
			return err
		}
		b := last.Bytes()
		return d.exec(`INSERT INTO marks VALUES (?, ?) ON CONFLICT (device) DO UPDATE SET mark = excluded.mark`, device[:], b[:])
	})
	if err != nil {
		return ids.Lease{}, err
	}
	return l, nil
}

// mark reads a device's mark. Whatever isn't exactly 16 bytes is damage: no ids, rather than some that may be repeated.
func (s *Store) mark(device ids.Device) (mark ids.Ordinal, err error) {
	found := false
	err = s.db.query(func(st *sqlite3.Stmt) error {
		found = true
		b, ok := column(st, 0).([]byte)
		if !ok {
			return fmt.Errorf("%w: its mark is no BLOB", store.ErrCorrupt)
		}
		if mark, err = ids.OrdinalFrom(b); err != nil {
			return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
		}
		return nil
	}, `SELECT mark FROM marks WHERE device = ?`, device[:])
	if err == nil && !found && device == s.device {
		err = fmt.Errorf("%w: its device has no mark", store.ErrCorrupt)
	}
	return mark, err
}

// Changed implements store.Store. data_version changes with the commits of other connections only.
func (s *Store) Changed(ctx context.Context) (changed bool, err error) {
	err = s.locked(ctx, func(d *db) error {
		v, err := d.int(`PRAGMA data_version`)
		if err == nil {
			changed, s.seen = v != s.seen, v
		}
		return err
	})
	return changed, err
}
