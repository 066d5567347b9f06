package pebble

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guard stands between the database and the file system. From the first write, sync, create or rename that fails, the
// store counts as broken, and everything that the database still writes is swallowed as though it went well.
//
// Without it a full disk or a failed sync makes Pebble panic under its own locks, call os.Exit, or retry a flush for
// ever. With it Pebble comes to its end in peace, the folder stays as a power cut at that moment would have left it, and
// no late write of a dying instance can touch what a new one has opened. The store asks failure after every sync, so nothing that
// was swallowed is ever acknowledged.
type guard struct {
	vfs.FS
	dir      string                // of the store, with the separator behind it; "": all paths are
	crowded  atomic.Int64          // tables that found no room
	away     atomic.Pointer[guard] // of a checkpoint under way
	mu       sync.Mutex
	failed   error // the first failure
	onFail   func(error)
	manifest manifestMark
	disk     *diskWatch              // nil: has room
	logs     map[string]*guardedFile // those being written, by path
}

// manifestMark is a manifest of the database and how much of it was synced. A manifest that is found shorter was cut.
type manifestMark struct {
	name string
	size int64
}

func newGuard(fs vfs.FS) *guard { return &guard{FS: fs} }

// failure returns what broke the store, or nil.
func (g *guard) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed
}

// fail breaks the store. The first reason stays.
func (g *guard) fail(err error) {
	g.mu.Lock()
	first := g.failed == nil
	if first {
		g.failed = err
	}
	f := g.onFail
	g.mu.Unlock()
	if first && f != nil {
		f(err)
	}
}

// change runs something that changes the disk, unless the store is broken; a failure breaks it and is swallowed.
func (g *guard) change(f func() error) {
	if g.failure() != nil {
		return
	}
	if err := f(); err != nil {
		g.fail(err)
	}
}

// file runs something that opens a file for writing. Where it can't be had, the caller gets one that forgets.
func (g *guard) file(name string, open func() (vfs.File, error)) (vfs.File, error) {
	var f vfs.File
	g.change(func() (err error) { f, err = open(); return err })
	if f == nil {
		f = vfs.NewMemFile(nil)
		return &guardedFile{File: f, guard: g, void: true}, nil
	}
	gf := &guardedFile{File: f, guard: g}
	switch base := g.PathBase(name); {
	case strings.HasPrefix(base, "MANIFEST-"):
		gf.manifest, gf.folder = base, g.PathDir(name)
	case strings.HasSuffix(base, ".log"):
		gf.log = name
		g.mu.Lock()
		if g.logs == nil {
			g.logs = map[string]*guardedFile{}
		}
		g.logs[name] = gf
		g.mu.Unlock()
	}
	return gf, nil
}

// Open opens a file for reading; of a log that is being written, what is written of it now. A log is often an old one written over: a
// checkpoint that copies it while it grows could take new records, then old bytes, then newer records, and nobody could open that.
func (g *guard) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	g.mu.Lock()
	growing := g.logs[name]
	g.mu.Unlock()
	if growing == nil {
		return g.FS.Open(name, o...)
	}
	size := growing.size.Load()
	f, err := g.FS.Open(name, o...)
	if err != nil {
		return nil, err
	}
	return &prefixFile{File: f, left: size}, nil
}

// prefixFile is a file of which only so many bytes are read on.
type prefixFile struct {
	vfs.File
	left int64
}

func (f *prefixFile) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n, err := f.File.Read(p[:min(int64(len(p)), f.left)])
	f.left -= int64(n)
	return n, err
}

func (g *guard) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if away := g.elsewhere(name); away != nil {
		return away.Create(name, c)
	}
	if isTable(name) {
		return g.table(name, c)
	}
	return g.file(name, func() (vfs.File, error) { return g.FS.Create(name, c) })
}

// elsewhere returns the guard of a path outside of the store's folder, where a checkpoint is written: what fails there breaks the checkpoint alone.
// It is nil for all other paths.
func (g *guard) elsewhere(name string) *guard {
	if g.dir == "" || strings.HasPrefix(name, g.dir) {
		return nil
	}
	return g.away.Load()
}

func (g *guard) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return g.file(name, func() (vfs.File, error) { return g.FS.OpenReadWrite(name, c, o...) })
}

func (g *guard) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.file(to, func() (vfs.File, error) { return g.FS.ReuseForWrite(from, to, c) })
}

// OpenDir opens a folder for syncing: a sync that fails breaks the store.
func (g *guard) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	if away := g.elsewhere(name); away != nil {
		return &guardedFile{File: f, guard: away}, nil
	}
	return &guardedFile{File: f, guard: g}, nil
}

func (g *guard) Rename(from, to string) error {
	if away := g.elsewhere(to); away != nil {
		return away.Rename(from, to)
	}
	g.change(func() error { return g.FS.Rename(from, to) })
	return nil
}

func (g *guard) MkdirAll(dir string, perm os.FileMode) error {
	if away := g.elsewhere(dir); away != nil {
		return away.MkdirAll(dir, perm)
	}
	g.change(func() error { return g.FS.MkdirAll(dir, perm) })
	return nil
}

// Remove drops a file that isn't needed any more. Failing at that breaks nothing: it is left lying.
func (g *guard) Remove(name string) error {
	if g.failure() != nil {
		return nil
	}
	return g.FS.Remove(name)
}

func (g *guard) RemoveAll(name string) error {
	if g.failure() != nil {
		return nil
	}
	return g.FS.RemoveAll(name)
}

// Link is refused: a checkpoint copies its files instead. A backup that shares blocks with the store would share their damage.
func (g *guard) Link(string, string) error { return errors.ErrUnsupported }

// Lock is free: the store's own lock covers the whole folder, and lives as long as the store, broken or not.
func (g *guard) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap lets Pebble find the file system below.
func (g *guard) Unwrap() vfs.FS { return g.FS }

// synced returns the newest manifest of which a prefix is known to be on disk.
func (g *guard) synced() manifestMark {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.manifest
}

// guardedFile is a file open for writing.
type guardedFile struct {
	vfs.File
	guard    *guard
	void     bool   // it stands for a file that was never made
	manifest string // its name, where it is a manifest
	folder   string // in which the manifest's entry isn't synced yet
	log      string // its path, where it is a log
	size     atomic.Int64
}

func (f *guardedFile) Write(p []byte) (int, error) {
	f.guard.change(func() error {
		n, err := f.File.Write(p)
		f.size.Add(int64(n))
		f.guard.disk.wrote(int64(n))
		if err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
		return err
	})
	return len(p), nil
}

func (f *guardedFile) WriteAt(p []byte, at int64) (int, error) {
	f.guard.change(func() error { _, err := f.File.WriteAt(p, at); return err })
	return len(p), nil
}

func (f *guardedFile) Sync() error { return f.sync(f.File.Sync) }

func (f *guardedFile) SyncData() error { return f.sync(f.File.SyncData) }

func (f *guardedFile) sync(do func() error) error {
	size := f.size.Load() // what a concurrent write adds isn't covered
	f.guard.change(do)
	if f.folder != "" {
		// Pebble points to a new manifest and only then syncs the folder, for both entries at once. A power cut may keep the
		// pointer without the manifest: so its entry goes first.
		f.guard.change(folder{f.guard.FS, f.folder}.syncSelf)
		f.folder = ""
	}
	if f.manifest != "" && f.guard.failure() == nil {
		f.guard.mu.Lock()
		if m := &f.guard.manifest; f.manifest >= m.name {
			*m = manifestMark{name: f.manifest, size: size}
		}
		f.guard.mu.Unlock()
	}
	return nil
}

func (f *guardedFile) SyncTo(n int64) (full bool, err error) {
	f.guard.change(func() (err error) { full, err = f.File.SyncTo(n); return err })
	return full, nil
}

// Preallocate reserves room. Where there is none for so much at once there may be for what is written.
func (f *guardedFile) Preallocate(offset, n int64) error {
	f.guard.change(func() error {
		f.guard.disk.wrote(n)
		err := f.File.Preallocate(offset, n)
		if errors.Is(err, syscall.ENOSPC) {
			return nil
		}
		return err
	})
	return nil
}

func (f *guardedFile) Close() error {
	if f.void {
		return nil
	}
	if f.log != "" {
		f.guard.mu.Lock()
		delete(f.guard.logs, f.log)
		f.guard.mu.Unlock()
	}
	if err := f.File.Close(); err != nil {
		f.guard.fail(err)
	}
	return nil
}
