package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hapax/internal/store"
	"hapax/internal/store/pebble"
	"hapax/internal/wire/admin"
)

// readBooks calls f with the gateway's half of a data folder. Where a server holds the folder it is asked for a checkpoint, and f reads that.
func readBooks(ctx context.Context, data string, f func(store.BooksView) error) error {
	err := pebble.ReadBooks(ctx, data, pebble.Options{}, f)
	if !errors.Is(err, store.ErrLocked) {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(filepath.Clean(data)), ".hapax-checkpoint-")
	if err != nil {
		return err
	}
	copied := filepath.Join(temp, "checkpoint")
	if err = admin.AskCheckpoint(ctx, data, copied, 0); err == nil {
		err = pebble.ReadBooks(ctx, copied, pebble.Options{}, f)
	}
	return errors.Join(err, os.RemoveAll(temp))
}

// booksExit gives what can be wrong with a data folder that is read its exit status. A folder without a store is as a missing policy (docs/spec/contract.md,
// Exit statuses); one that is damaged is an unreadable fact.
func booksExit(err error) error {
	const unreadable = 2
	var exit *ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return err
	case errors.Is(err, store.ErrDamage):
		return &ExitError{Code: unreadable, Err: err}
	case errors.Is(err, fs.ErrNotExist):
		return &ExitError{Code: ExitConfig, Err: err}
	case errors.Is(err, store.ErrLocked):
		return &ExitError{Code: ExitConfig, Err: fmt.Errorf("%w, and who uses it gives no checkpoint", err)}
	}
	return storeExit(err)
}
