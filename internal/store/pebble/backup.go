package pebble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hapax/internal/store"
)

// ErrNotEmpty says that a backup or restore was to go into a folder in which there is something.
var ErrNotEmpty = errors.New("store: the folder isn't empty")

// Checkpoint writes a backup of the open store into dst, a folder that is empty or missing. Commits go on meanwhile; the backup holds at least
// what was synced when it was called, and whole commits only. It shares no bytes with the store.
//
// While it is written, and where it was cut off, a file named incomplete lies in dst, and no one opens it.
// mode is that of the folders made, 0: DefaultMode.
func (s *Store) Checkpoint(ctx context.Context, dst string, mode os.FileMode) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m, err := s.enter() // keeps Close away
	if err != nil {
		return err
	}
	defer s.leave(m)
	to := folder{fs: s.opts.FS, dir: dst}
	if _, real := to.fs.(private); real {
		to.fs = onDisk(mode)
	}
	s.copying.Lock()
	defer s.copying.Unlock()
	away := newGuard(to.fs)
	s.guard.away.Store(away)
	defer s.guard.away.Store(nil)
	return to.fill(format, func() error {
		err := s.db.Checkpoint(to.path(folderDB), lsm.WithFlushedWAL())
		if broken := s.broken(); broken != nil { // then err is only what came of it
			return broken
		}
		if failed := away.failure(); failed != nil {
			return fmt.Errorf("writing %s: %w", dst, failed)
		}
		return err
	})
}

// Backup writes a backup of a store that no process has open, in the format that the store has. See Checkpoint.
func Backup(ctx context.Context, src, dst string, o Options) error {
	o = o.withDefaults()
	from, to := folder{o.FS, src}, folder{o.FS, dst}
	return from.locked(func(version int) error {
		return to.fill(version, func() error { return from.copyDatabase(ctx, to) })
	})
}

// Restore makes a store out of a backup, in a folder that is empty or missing. It keeps the server id and begins a new epoch: whoever read the
// history that went on after the backup gets a snapshot. The backup isn't changed. One of an earlier format becomes a store of this.
func Restore(ctx context.Context, src, dst string, o Options) error {
	o = o.withDefaults()
	from, to := folder{o.FS, src}, folder{o.FS, dst}
	return from.locked(func(version int) error {
		return to.fill(format, func() error {
			if err := from.copyDatabase(ctx, to); err != nil {
				return err
			}
			return to.adopt(version, o)
		})
	})
}

// adopt opens the copied database once, so that what can't be opened is told now, and the new epoch is stored. The copy has no mark:
// that alone makes the epoch new.
func (f folder) adopt(version int, o Options) error {
	lock, err := f.lock()
	if err != nil {
		return err
	}
	s := &Store{opts: o, folder: f, guard: newGuard(o.FS), lock: lock, writer: make(chan struct{}, 1)}
	if err := s.openOrGiveBack(version); err != nil {
		return errors.Join(err, lock.Close())
	}
	return s.Close()
}

// fill makes the content of a store of a format: the file incomplete lies there until all of it is on disk.
func (f folder) fill(version int, content func() error) error {
	names, err := f.fs.List(f.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(names) > 0 {
		return fmt.Errorf("%w: %s", ErrNotEmpty, f.dir)
	}
	if err := f.make(); err != nil {
		return err
	}
	if err := f.write(fileIncomplete, []byte("A backup or restore is being written here, or was cut off.\n")); err != nil {
		return err
	}
	if err := content(); err != nil {
		return err
	}
	if err := f.replace(fileFormat, formatLine(version)); err != nil {
		return err
	}
	if err := f.fs.Remove(f.path(fileIncomplete)); err != nil {
		return err
	}
	return f.sync("")
}

// locked calls do with the store's format while no other process can have the store open. A backup has no lock file, and may lie where nothing can be written.
func (f folder) locked(do func(version int) error) error {
	version, err := f.checkFormat()
	if err == nil && version == 0 {
		err = fmt.Errorf("%s: %w: no store is in it", f.dir, os.ErrNotExist)
	}
	if err != nil {
		return err
	}
	if _, err := f.checkDatabase(true); err != nil {
		return err
	}
	used, err := f.has(fileLock)
	if err != nil {
		return err
	}
	if used {
		lock, err := f.lock()
		if err != nil && (errors.Is(err, store.ErrLocked) || !errors.Is(err, os.ErrPermission) && !errors.Is(err, syscall.EROFS)) {
			return err
		}
		if lock != nil {
			defer lock.Close()
		}
	}
	return do(version)
}

// copyDatabase copies the files of the database one by one, each synced.
func (f folder) copyDatabase(ctx context.Context, to folder) error {
	if err := f.checkManifest(); err != nil {
		return err
	}
	names, err := f.fs.List(f.path(folderDB))
	if err != nil {
		return err
	}
	sub := folder{to.fs, to.path(folderDB)}
	if err := sub.make(); err != nil {
		return err
	}
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyFile(f.fs, f.fs.PathJoin(f.path(folderDB), n), sub.path(n)); err != nil {
			return fmt.Errorf("copy %s: %w", n, err)
		}
	}
	return sub.sync("")
}

func copyFile(fs vfs.FS, from, to string) error {
	src, err := fs.Open(from, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := fs.Create(to, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		return errors.Join(err, dst.Close())
	}
	return errors.Join(dst.Sync(), dst.Close())
}
