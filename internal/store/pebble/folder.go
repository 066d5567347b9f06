package pebble

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hapax/internal/store"
)

// What lies in a data folder.
const (
	fileFormat     = "format"     // one line: "hapax-store 2"; read before anything else is touched
	fileLock       = "lock"       // held by the process that has the store open
	fileIncomplete = "incomplete" // a backup or restore is being written, or was cut off
	folderDB       = "db"         // Pebble's folder
	prefixMark     = "mark-"      // tells this folder from a copy; see mark.go
	suffixNew      = ".new"       // of a file that is to take the place of one
	prefixNote     = "head-"      // the last head noted after a sync; see note.go
)

// folder is a data folder on a file system.
type folder struct {
	fs  vfs.FS
	dir string
}

func (f folder) path(name string) string { return f.fs.PathJoin(f.dir, name) }

func (f folder) has(name string) (bool, error) {
	_, err := f.fs.Stat(f.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (f folder) read(name string) ([]byte, error) {
	file, err := f.fs.Open(f.path(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// write makes a file with the content, synced, and syncs the folder.
func (f folder) write(name string, content []byte) error {
	file, err := f.fs.Create(f.path(name), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	return f.sync("")
}

// replace writes a file beside and renames it over: who reads it sees the old content or the new.
func (f folder) replace(name string, content []byte) error {
	if err := f.write(name+suffixNew, content); err != nil {
		return err
	}
	if err := f.fs.Rename(f.path(name+suffixNew), f.path(name)); err != nil {
		return err
	}
	return f.sync("")
}

// sync makes the entries of a folder inside (or "" for itself) durable.
func (f folder) sync(sub string) error {
	d, err := f.fs.OpenDir(f.path(sub))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (f folder) syncSelf() error { return f.sync("") }

// make makes the folder, and its entry in its parent durable.
func (f folder) make() error {
	if err := f.fs.MkdirAll(f.dir, DefaultMode); err != nil {
		return err
	}
	return folder{f.fs, f.fs.PathDir(f.dir)}.sync("")
}

// lock takes the folder for this process.
func (f folder) lock() (io.Closer, error) {
	c, err := f.fs.Lock(f.path(fileLock))
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES) && f.writable(), strings.Contains(err.Error(), "held by current process"):
		return nil, fmt.Errorf("%w: %s", store.ErrLocked, f.dir)
	}
	return nil, fmt.Errorf("lock %s: %w", f.dir, err)
}

// writable tells a lock that another process holds from a folder that may not be written (some systems answer EACCES to both).
func (f folder) writable() bool {
	file, err := f.fs.OpenReadWrite(f.path(fileLock), vfs.WriteCategoryUnspecified)
	return err == nil && file.Close() == nil
}

// checkDatabase looks whether Pebble's folder is one that Pebble would open as it is, rather than begin anew. found says what the
// format file said.
func (f folder) checkDatabase(found bool) (exists bool, err error) {
	names, err := f.fs.List(f.path(folderDB))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if err == nil {
		desc, err := lsm.Peek(f.path(folderDB), f.fs)
		if err != nil {
			return false, newerOr(f.path(folderDB), err)
		}
		exists = desc.Exists
	}
	if exists {
		return true, nil
	}
	for _, n := range names {
		if strings.HasSuffix(n, ".sst") || found {
			return false, fmt.Errorf("%w: %s has no manifest", store.ErrDamage, f.path(folderDB))
		}
	}
	if found {
		return false, fmt.Errorf("%w: %s is missing", store.ErrDamage, f.path(folderDB))
	}
	return false, nil
}

// newerOr tells a database of a newer Pebble from a damaged one.
func newerOr(path string, err error) error {
	if strings.Contains(err.Error(), "format major version") {
		return fmt.Errorf("%w: %s: %v", store.ErrNewer, path, err)
	}
	return fmt.Errorf("%w: %s: %v", store.ErrDamage, path, err)
}

// allocated is what all files of the folder take on the disk.
func (f folder) allocated() (bytes int64) {
	for _, dir := range []string{f.dir, f.path(folderDB)} {
		names, err := f.fs.List(dir)
		if err != nil {
			continue // as good as it can be told
		}
		for _, name := range names {
			if info, err := f.fs.Stat(f.fs.PathJoin(dir, name)); err == nil && !info.IsDir() {
				bytes += allocated(info)
			}
		}
	}
	return bytes
}
