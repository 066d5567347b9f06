//go:build !js

package sqlite

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"hapax/client/store"
)

// db is a connection with its prepared statements. It is used by one goroutine at a time.
type db struct {
	conn  *sqlite3.Conn
	stmts map[string]*sqlite3.Stmt
}

func (d *db) close() error {
	for _, s := range d.stmts {
		s.Close()
	}
	d.stmts = nil
	return d.conn.Close()
}

// broken translates what SQLite says into the errors of package store.
func broken(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sqlite3.CORRUPT), errors.Is(err, sqlite3.NOTADB):
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	case errors.Is(err, sqlite3.BUSY):
		return fmt.Errorf("%w: %w", store.ErrBusy, err)
	}
	return err
}

// script runs statements without parameters or results.
func (d *db) script(sql string) error { return broken(d.conn.Exec(sql)) }

// prepare returns a statement, bound to the arguments. Its text is the key of the cache: no values are written into it.
func (d *db) prepare(sql string, args []any) (*sqlite3.Stmt, error) {
	s := d.stmts[sql]
	if s == nil {
		var err error
		if s, _, err = d.conn.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT); err != nil {
			return nil, broken(err)
		}
		d.stmts[sql] = s
	}
	for i, a := range args {
		if err := bind(s, i+1, a); err != nil {
			return nil, broken(err)
		}
	}
	return s, nil
}

func bind(s *sqlite3.Stmt, i int, a any) error {
	switch a := a.(type) {
	case nil:
		return s.BindNull(i)
	case string:
		return s.BindText(i, a)
	case []byte:
		if a == nil {
			return s.BindNull(i)
		}
		return s.BindBlob(i, a)
	case int:
		return s.BindInt(i, a)
	case int64:
		return s.BindInt64(i, a)
	}
	return fmt.Errorf("sqlite: can't bind a %T", a)
}

// query calls f with each row, until f fails. Within f, no query of the same text may run.
func (d *db) query(f func(*sqlite3.Stmt) error, sql string, args ...any) error {
	s, err := d.prepare(sql, args)
	if err != nil {
		return err
	}
	for err == nil && s.Step() {
		err = f(s)
	}
	if err == nil {
		err = s.Err()
	}
	// Reset repeats the error of Step, if there was one. The values bound must not outlive the call, as they hold bodies.
	reset, cleared := s.Reset(), s.ClearBindings()
	if err == nil {
		err = errors.Join(reset, cleared)
	}
	return broken(err)
}

// exec runs a statement without results.
func (d *db) exec(sql string, args ...any) error {
	return d.query(func(*sqlite3.Stmt) error { return nil }, sql, args...)
}

// int reads one number, 0 where there is no row.
func (d *db) int(sql string, args ...any) (n int64, err error) {
	err = d.query(func(s *sqlite3.Stmt) error {
		n = s.ColumnInt64(0)
		return nil
	}, sql, args...)
	return n, err
}

// write runs f in a transaction that has the write lock from its start, so that what f reads can't change until it commits.
// An error of f, or of the commit, rolls all of it back.
func (d *db) write(f func() error) error {
	if err := d.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	err := f()
	if err == nil {
		if err = d.exec(`COMMIT`); err == nil {
			return nil
		}
	}
	if failed := d.rollback(); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}

// read runs f in a transaction that sees one moment.
func (d *db) read(f func() error) error {
	if err := d.exec(`BEGIN`); err != nil {
		return err
	}
	err := f()
	if failed := d.rollback(); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}

// rollback ends a transaction, unless SQLite has ended it by itself after an I/O error.
func (d *db) rollback() error {
	if d.conn.GetAutocommit() {
		return nil
	}
	return d.exec(`ROLLBACK`)
}

func itoa(n int) string { return strconv.Itoa(n) }
