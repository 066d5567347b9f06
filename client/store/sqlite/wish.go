//go:build !js

package sqlite

import (
	"context"

	"github.com/ncruces/go-sqlite3"

	"hapax/client/store"
)

// Want implements store.Store.
func (s *Store) Want(ctx context.Context, beat int64, rooms map[string]int) error {
	return s.writing(ctx, func(d *db) error {
		if err := d.exec(`DELETE FROM wishes WHERE handle = ?`, s.handle[:]); err != nil {
			return err
		}
		for room, rows := range rooms {
			err := d.exec(`INSERT INTO wishes (handle, room, rows, beat) VALUES (?, ?, ?, ?)`, s.handle[:], room, rows, beat)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Wanted implements store.Store. A row that can't be read is no wish: whoever wrote it writes it again.
func (s *Store) Wanted(ctx context.Context) (wishes []store.Wish, err error) {
	err = s.reading(ctx, func(d *db) error {
		return d.query(func(st *sqlite3.Stmt) error {
			w := store.Wish{Room: st.ColumnText(1), Rows: st.ColumnInt(2), Beat: st.ColumnInt64(3)}
			if copy(w.Handle[:], st.ColumnBlob(0, nil)) == len(w.Handle) {
				wishes = append(wishes, w)
			}
			return nil
		}, `SELECT handle, room, rows, beat FROM wishes WHERE handle <> ?`, s.handle[:])
	})
	return wishes, err
}

// Unwant implements store.Store.
func (s *Store) Unwant(ctx context.Context, handle store.Handle) error {
	return s.writing(ctx, func(d *db) error { return d.exec(`DELETE FROM wishes WHERE handle = ?`, handle[:]) })
}
