//go:build !js

package sqlite

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"hapax/client/store"
)

// smallTables are checked whole at each opening. messages may be large, and can be fetched again.
var smallTables = []string{"meta", "outbox", "cursors", "marks", "wishes", "receipts"}

// inspect returns the file's version, 0 for an empty one.
func (d *db) inspect() (version int, err error) {
	app, err := d.int(`PRAGMA application_id`)
	if err != nil {
		return 0, err
	}
	v, err := d.int(`PRAGMA user_version`)
	if err != nil {
		return 0, err
	}
	tables, err := d.int(`SELECT count(*) FROM sqlite_schema`)
	switch {
	case err != nil:
		return 0, err
	case app == 0 && v == 0 && tables == 0:
		return 0, nil
	case app != applicationID || v < 1 || tables == 0:
		return 0, fmt.Errorf("%w: not a client's store", store.ErrCorrupt)
	}
	return int(v), nil
}

// configure sets what the store's promises rest on, and makes sure that it is so.
func (d *db) configure(extra string) error {
	mode := ""
	err := d.query(func(s *sqlite3.Stmt) error {
		mode = s.ColumnText(0)
		return nil
	}, `PRAGMA journal_mode = WAL`)
	if err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("no WAL on this file system: journal mode %q", mode)
	}
	// secure_delete: a body that was deleted is overwritten. trusted_schema: a prepared file must not run functions.
	if err := d.script(`PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY`); err != nil {
		return err
	}
	return d.script(extra)
}

// check looks for damage where a loss would hurt, in those of the small tables that are there. It returns how many are.
func (d *db) check() (tables int, err error) {
	for _, t := range smallTables {
		n, err := d.int(`SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?`, t)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			continue
		}
		tables++
		err = d.query(func(s *sqlite3.Stmt) error {
			if what := s.ColumnText(0); what != "ok" {
				return fmt.Errorf("%w: table %s: %s", damage(what), t, what)
			}
			return nil
		}, `PRAGMA quick_check(`+t+`)`)
		if err != nil {
			return 0, err
		}
	}
	return tables, nil
}

// pageError is how quick_check tells that it could not read a page.
var pageError = regexp.MustCompile(`unable to get the page\. error code=(\d+)`)

// damage tells a damaged file from a disk that failed just now: the latter must not make an app give its store up.
func damage(what string) error {
	if m := pageError.FindStringSubmatch(what); m != nil {
		if code, err := strconv.Atoi(m[1]); err == nil && sqlite3.ErrorCode(code&0xff) != sqlite3.CORRUPT {
			return sqlite3.ErrorCode(code & 0xff)
		}
	}
	return store.ErrCorrupt
}
