//go:build !js

package sqlite

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"

	"hapax/client/store"
)

// setAsideUnreadable moves outbox rows that can't be read to the table aside, and counts them. Bodies are read when they are
// needed, and set aside then.
func (s *Store) setAsideUnreadable() (n int, err error) {
	// Looked at without the write lock first, as nearly always there is nothing to do.
	var bad map[int64]error
	err = s.db.read(func() error {
		return s.then(func(*db) error {
			bad, err = s.unreadable()
			return err
		})
	})
	if err != nil || len(bad) == 0 {
		return 0, err
	}
	err = s.db.write(func() error {
		return s.then(func(*db) error {
			n, err = s.moveUnreadable(0)
			return err
		})
	})
	return n, err
}

// unreadable returns the positions of rows that can't be read, and why.
func (s *Store) unreadable() (map[int64]error, error) {
	bad := map[int64]error{}
	err := s.db.query(func(st *sqlite3.Stmt) error {
		if r, err := s.scanRow(st); err != nil {
			bad[r.Position] = err
		}
		return nil
	}, `SELECT `+rowColumns+` FROM outbox`)
	return bad, err
}

// moveUnreadable moves them within a transaction, and adds their number to n.
func (s *Store) moveUnreadable(n int) (int, error) {
	bad, err := s.unreadable()
	if err != nil {
		return n, err
	}
	return n + len(bad), s.setAllAside("outbox", "position", bad)
}

// setAllAside moves rows, and says why for each.
func (s *Store) setAllAside(table, key string, bad map[int64]error) error {
	for _, value := range slices.Sorted(maps.Keys(bad)) {
		if err := s.setAside(table, key, value, bad[value]); err != nil {
			return err
		}
	}
	return nil
}

// setAside moves one row of a table, with all its columns, within a transaction.
func (s *Store) setAside(table, key string, value int64, why error) error {
	var row []byte
	err := s.db.query(func(st *sqlite3.Stmt) (err error) {
		row, err = asJSON(st)
		return err
	}, `SELECT * FROM `+table+` WHERE `+key+` = ?`, value)
	if err != nil || row == nil {
		return err
	}
	if err := s.db.exec(`INSERT INTO aside (source, why, row) VALUES (?, ?, ?)`, table, why.Error(), row); err != nil {
		return err
	}
	return s.db.exec(`DELETE FROM `+table+` WHERE `+key+` = ?`, value)
}

// asJSON writes a row by the names of its columns. Bytes that are not valid text become {"base64": …}.
func asJSON(st *sqlite3.Stmt) ([]byte, error) {
	row := make(map[string]any, st.ColumnCount())
	for i := range st.ColumnCount() {
		v := column(st, i)
		switch b := v.(type) {
		case []byte:
			v = map[string][]byte{"base64": b}
		case string:
			if !utf8.ValidString(b) {
				v = map[string][]byte{"base64": []byte(b)}
			}
		}
		row[st.ColumnName(i)] = v
	}
	return json.Marshal(row)
}

// SetAside implements store.Store.
func (s *Store) SetAside(ctx context.Context, f func(store.Aside) error) error {
	return s.reading(ctx, func(d *db) error {
		return d.query(func(st *sqlite3.Stmt) error {
			return f(store.Aside{Table: st.ColumnText(0), Why: st.ColumnText(1), Row: st.ColumnBlob(2, nil)})
		}, `SELECT source, why, row FROM aside ORDER BY n`)
	})
}
