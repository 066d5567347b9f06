//go:build !js

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"hapax/client/store"
)

// oldPrefix marks the tables of the file as it was, while Reset works.
const oldPrefix = "hapax_old_"

// Reset makes a store of a newer version usable, on the app's word: in one transaction it builds this SDK's schema anew, carries over
// owner, fence, device, marks and every outbox row, drops messages and cursors, and sets the version. An outbox row that this
// SDK can't read is set aside with its bytes; the Report counts them. With any error nothing has changed: store.ErrCorrupt
// for a file that is no store or has no outbox, store.ErrDraining while a process drains it, store.ErrWrongKey,
// store.ErrNotEncrypted for a store in the clear to which a key is given: reset it without one.
func Reset(ctx context.Context, path string, o Options) (store.Report, error) {
	if err := ctx.Err(); err != nil {
		return store.Report{}, err
	}
	s := newStore(o)
	path, err := s.connect(path, o)
	if err != nil {
		return store.Report{}, fmt.Errorf("reset store %s: %w", path, err)
	}
	err = s.reset(o)
	if err := errors.Join(err, s.db.close()); err != nil {
		return store.Report{}, fmt.Errorf("reset store %s: %w", path, err)
	}
	return s.report, nil
}

func (s *Store) reset(o Options) error {
	d := s.db
	if err := s.waitForLocks(); err != nil {
		return err
	}
	version, err := d.inspect()
	if err != nil {
		return err
	}
	if version == 0 {
		return fmt.Errorf("%w: it is empty", store.ErrCorrupt)
	}
	if err := d.configure(o.pragma); err != nil {
		return err
	}
	if _, err := d.check(); err != nil {
		return err
	}
	ok, err := s.lock.TryLock()
	if err != nil {
		return err
	}
	if !ok {
		return store.ErrDraining
	}
	err = d.write(s.rebuild)
	s.report.From, s.report.To = version, store.Version
	return errors.Join(err, s.lock.Unlock())
}

// rebuild is the transaction.
func (s *Store) rebuild() error {
	d := s.db
	if err := s.checkResetKey(); err != nil {
		return err
	}
	old, err := d.takeApart()
	if err != nil {
		return err
	}
	for _, st := range steps {
		if err := st.run(d); err != nil {
			return err
		}
	}
	if !slices.Contains(old, "outbox") {
		return fmt.Errorf("%w: no outbox to carry over", store.ErrCorrupt)
	}
	if err := s.carryDevice(slices.Contains(old, "meta"), slices.Contains(old, "marks")); err != nil {
		return err
	}
	for _, table := range []string{"aside", "outbox"} {
		if slices.Contains(old, table) {
			if err := s.carry(table); err != nil {
				return err
			}
		}
	}
	for _, table := range old {
		if err := d.script(`DROP TABLE ` + sqlite3.QuoteIdentifier(oldPrefix+table)); err != nil {
			return err
		}
	}
	if s.report.SetAside, err = s.moveUnreadable(s.report.SetAside); err != nil {
		return err
	}
	return d.stamp(store.Version)
}

// checkResetKey is checkKey for a file whose tables may be anything: a key is for a store that is sealed.
func (s *Store) checkResetKey() error {
	if err := s.checkKey(); err != nil || s.seal == nil {
		return err
	}
	v, err := s.db.meta("key_check")
	if err == nil && v == nil {
		err = store.ErrNotEncrypted
	}
	return err
}

// carryDevice carries over meta and marks. A device comes with its mark, as that is in the file, or not at all: the fresh one has
// given no ids yet. A device in a file with marks but none of its own stays without, so that it gives no ids.
func (s *Store) carryDevice(meta, marks bool) error {
	fresh, err := s.db.meta("device")
	if err != nil {
		return err
	}
	if meta {
		if err := s.carry("meta"); err != nil {
			return err
		}
	}
	device, err := s.db.meta("device")
	if err != nil {
		return err
	}
	switch kept := !reflect.DeepEqual(device, fresh); {
	case !marks:
		return s.db.setMeta("device", fresh)
	case kept:
		if err := s.db.exec(`DELETE FROM marks`); err != nil {
			return err
		}
	}
	return s.carry("marks")
}

// takeApart drops all but tables, and gives those other names, which it returns as they were.
func (d *db) takeApart() (tables []string, err error) {
	var drop []string
	err = d.query(func(st *sqlite3.Stmt) error {
		kind, name := st.ColumnText(0), st.ColumnText(1)
		switch {
		case strings.HasPrefix(name, "sqlite_"):
		case kind == "table":
			tables = append(tables, name)
		default:
			drop = append(drop, `DROP `+kind+` IF EXISTS `+sqlite3.QuoteIdentifier(name))
		}
		return nil
	}, `SELECT type, name FROM sqlite_schema`)
	for _, sql := range drop {
		if err == nil {
			err = d.script(sql)
		}
	}
	for _, t := range tables {
		if err == nil {
			err = d.script(`ALTER TABLE ` + sqlite3.QuoteIdentifier(t) + ` RENAME TO ` + sqlite3.QuoteIdentifier(oldPrefix+t))
		}
	}
	return tables, err
}

// carry copies the rows of a table by the names of its columns; one that doesn't fit is set aside.
func (s *Store) carry(table string) error {
	columns, err := s.db.columns(table)
	if err != nil {
		return err
	}
	insert := `INSERT OR ` + map[bool]string{true: "REPLACE", false: "ABORT"}[table == "meta"] + ` INTO ` + table +
		` (` + strings.Join(columns, ", ") + `) VALUES (?` + strings.Repeat(", ?", len(columns)-1) + `)`
	err = s.db.query(func(st *sqlite3.Stmt) error {
		row := map[string]any{}
		for i := range st.ColumnCount() {
			row[st.ColumnName(i)] = column(st, i)
		}
		values := make([]any, len(columns))
		for i, c := range columns {
			values[i] = row[c]
		}
		err := s.db.exec(insert, values...)
		if !errors.Is(err, sqlite3.CONSTRAINT) {
			return err
		}
		bytes, marshal := asJSON(st)
		if marshal != nil {
			return marshal
		}
		s.report.SetAside++
		return s.db.exec(`INSERT INTO aside (source, why, row) VALUES (?, ?, ?)`, table, err.Error(), bytes)
	}, `SELECT * FROM `+oldPrefix+table)
	if err != nil || table != "outbox" {
		return err
	}
	return s.db.carrySequence()
}

// columns returns the names of a table's columns.
func (d *db) columns(table string) (names []string, err error) {
	err = d.query(func(st *sqlite3.Stmt) error {
		names = append(names, st.ColumnText(0))
		return nil
	}, `SELECT name FROM pragma_table_info(?)`, table)
	return names, err
}

// carrySequence keeps positions from being given twice, also those of rows that are gone.
func (d *db) carrySequence() error {
	last, err := d.int(`SELECT max(seq) FROM sqlite_sequence WHERE name IN ('outbox', '` + oldPrefix + `outbox')`)
	if err != nil || last == 0 {
		return err
	}
	if err := d.exec(`DELETE FROM sqlite_sequence WHERE name = 'outbox'`); err != nil {
		return err
	}
	return d.exec(`INSERT INTO sqlite_sequence (name, seq) VALUES ('outbox', ?)`, last)
}
