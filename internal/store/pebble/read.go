package pebble

import (
	"context"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// ReadBooks calls f with the gateway's half of a store that no process has open, and changes nothing in it. Errors as of Open, and f's.
func ReadBooks(ctx context.Context, dir string, o Options, f func(store.BooksView) error) error {
	o = o.withDefaults()
	from := folder{fs: o.FS, dir: dir}
	return from.locked(func(int) error {
		if err := from.checkManifest(); err != nil {
			return err
		}
		opts := o.database(newGuard(o.FS))
		opts.FS, opts.ReadOnly = unlocked{o.FS}, true
		db, err := openDatabase(from.path(folderDB), opts, nil)
		if err != nil {
			return err
		}
		defer db.Close()
		head, err := from.readLostHead(db)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return f(&booksView{r: db, head: head})
	})
}

// readLostHead reads the head of the log, and holds the log against the notes as an opening would.
func (f folder) readLostHead(db *lsm.DB) (h gateway.Head, err error) {
	value, ok, err := get(db, selfKey)
	if err != nil || !ok {
		return h, err
	}
	s, err := readSelf(value)
	if err != nil {
		return h, err
	}
	if h, err = loadHead(db); err != nil {
		return h, err
	}
	lost, err := f.lostLog(s, db)
	h.Lost = h.Lost.Merge(lost)
	return h, err
}
