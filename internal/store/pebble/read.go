package pebble

import (
	"context"

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
		head, err := loadHead(db)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return f(&booksView{r: db, head: head})
	})
}
