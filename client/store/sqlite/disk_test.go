//go:build !js

package sqlite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// sector is what a disk writes whole; a power cut may tear even that.
const sector = 512

// disk is a file system in memory that knows what a sync has covered. A power cut keeps all of that, and of each sector
// written since a sync keeps, drops or tears what it likes. It behaves as the VFS of the operating system does that the store
// runs on: the first sync of a journal or log syncs the folder too, and bytes beside those written are safe.
type disk struct {
	mu      sync.Mutex
	name    string
	shm     string            // path of the shared index, which a cut wipes
	files   map[string]*inode // as processes see them
	durable map[string]*inode // as the folder on disk lists them

	ops      int   // operations so far that could fail
	cutAt    int   // the power goes at this operation; 0: never
	failAt   int   // this operation fails, once
	failWith error // with this; sqlite3.FULL: this and every later write
	dead     bool
	lies     bool // syncs do nothing: the planted fault
}

// inode is a file's content, and what a sync hasn't covered.
type inode struct {
	now, synced []byte
	pending     []change
	journal     bool // its first sync covers the folder
}

// change is a write, or where data is nil the new size.
type change struct {
	at   int64
	data []byte
}

func (c change) on(b []byte) []byte {
	if c.data == nil {
		return resize(b, c.at)
	}
	if end := c.at + int64(len(c.data)); end > int64(len(b)) {
		b = resize(b, end)
	}
	copy(b[c.at:], c.data)
	return b
}

func resize(b []byte, n int64) []byte {
	if n <= int64(len(b)) {
		return b[:n]
	}
	return append(b, make([]byte, n-int64(len(b)))...)
}

var diskNumber struct {
	sync.Mutex
	n int
}

// newDisk makes a disk that holds files, all of them synced.
func newDisk(tb testing.TB, files map[string][]byte) *disk {
	diskNumber.Lock()
	defer diskNumber.Unlock()
	diskNumber.n++
	d := &disk{name: fmt.Sprint("disk", diskNumber.n), files: map[string]*inode{}, durable: map[string]*inode{}}
	d.shm = filepath.Join(os.TempDir(), fmt.Sprintf("hapax-%d-%s-shm", os.Getpid(), d.name))
	for name, b := range files {
		i := &inode{now: bytes.Clone(b), synced: bytes.Clone(b)}
		d.files[name], d.durable[name] = i, i
	}
	vfs.Register(d.name, d)
	tb.Cleanup(func() {
		vfs.Unregister(d.name)
		os.Remove(d.shm)
	})
	return d
}

// options opens a store on this disk. The lock is always free: a cut ends every process.
func (d *disk) options(pragma string) Options {
	return Options{vfs: d.name, lock: &freeLock{}, pragma: pragma}
}

type freeLock struct{}

func (*freeLock) TryLock() (bool, error) { return true, nil }
func (*freeLock) Unlock() error          { return nil }

// afterCut returns what a disk holds when the power is back.
func (d *disk) afterCut(rng *rand.Rand) map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
	left := map[string][]byte{}
	keep := []float64{0, 0.1, 0.5, 0.9, 1}[rng.IntN(5)]
	names := map[string]bool{}
	for n := range d.files {
		names[n] = true
	}
	for n := range d.durable {
		names[n] = true
	}
	for n := range names {
		i := d.durable[n]
		if now := d.files[n]; now != i && rng.Float64() < keep { // a folder's change that happened to reach the disk
			i = now
		}
		if i != nil {
			left[n] = i.afterCut(rng, keep)
		}
	}
	return left
}

func (i *inode) afterCut(rng *rand.Rand, keep float64) []byte {
	b := bytes.Clone(i.synced)
	for _, c := range i.pending {
		if c.data == nil {
			if rng.Float64() < keep {
				b = c.on(b)
			}
			continue
		}
		for len(c.data) > 0 {
			n := min(int64(len(c.data)), sector-c.at%sector)
			part := change{c.at, c.data[:n]}
			c.at, c.data = c.at+n, c.data[n:]
			switch {
			case rng.Float64() < keep:
				b = part.on(b)
			case keep > 0 && rng.IntN(4) == 0: // torn
				if part.data = part.data[:rng.IntN(len(part.data))]; len(part.data) > 0 {
					b = part.on(b)
				}
			}
		}
	}
	return b
}

// op counts an operation, and tells whether it fails.
func (d *disk) op(write bool) error {
	if d.dead {
		return sqlite3.IOERR
	}
	d.ops++
	if d.ops == d.cutAt {
		d.dead = true
		return sqlite3.IOERR
	}
	if d.failAt == 0 || d.ops < d.failAt {
		return nil
	}
	full := d.failWith == sqlite3.FULL
	if full && write || !full && d.ops == d.failAt {
		return d.failWith
	}
	return nil
}

// syncFolder makes the folder durable as it is.
func (d *disk) syncFolder() {
	clear(d.durable)
	for n, i := range d.files {
		d.durable[n] = i
	}
}

// Open implements vfs.VFS.
func (d *disk) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op(false); err != nil {
		return nil, flags, err
	}
	i := d.files[name]
	if i == nil {
		if flags&vfs.OPEN_CREATE == 0 {
			return nil, flags, sqlite3.CANTOPEN
		}
		i = &inode{journal: flags&(vfs.OPEN_MAIN_JOURNAL|vfs.OPEN_SUPER_JOURNAL|vfs.OPEN_WAL) != 0}
		if name != "" {
			d.files[name] = i
		}
	}
	f := &diskFile{disk: d, inode: i}
	if flags&vfs.OPEN_MAIN_DB != 0 {
		f.shm = vfs.NewSharedMemory(d.shm, flags)
	}
	return f, flags, nil
}

// Delete implements vfs.VFS.
func (d *disk) Delete(name string, syncDir bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op(true); err != nil {
		return err
	}
	if d.files[name] == nil {
		return sqlite3.IOERR_DELETE_NOENT
	}
	delete(d.files, name)
	if syncDir && !d.lies {
		d.syncFolder()
	}
	return nil
}

// Access implements vfs.VFS.
func (d *disk) Access(name string, _ vfs.AccessFlag) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return false, sqlite3.IOERR_ACCESS
	}
	return d.files[name] != nil, nil
}

// FullPathname implements vfs.VFS.
func (d *disk) FullPathname(name string) (string, error) { return strings.TrimPrefix(name, "./"), nil }

// diskFile is an open file.
type diskFile struct {
	*disk
	*inode
	shm vfs.SharedMemory
}

var _ vfs.FileSharedMemory = (*diskFile)(nil)

func (f *diskFile) Close() error {
	if f.shm != nil {
		return f.shm.Close()
	}
	return nil
}

func (f *diskFile) ReadAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.op(false); err != nil {
		return 0, err
	}
	return bytes.NewReader(f.now).ReadAt(p, off)
}

func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := change{off, bytes.Clone(p)}
	if f.ops+1 == f.cutAt { // the power goes while it writes
		f.pending = append(f.pending, c)
	}
	if err := f.op(true); err != nil {
		return 0, err
	}
	f.now, f.pending = c.on(f.now), append(f.pending, c)
	return len(p), nil
}

func (f *diskFile) Truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.op(true); err != nil {
		return err
	}
	c := change{at: size}
	f.now, f.pending = c.on(f.now), append(f.pending, c)
	return nil
}

func (f *diskFile) Sync(vfs.SyncFlag) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.op(true); err != nil {
		return err
	}
	if f.lies {
		return nil
	}
	for _, c := range f.pending {
		f.synced = c.on(f.synced)
	}
	f.pending = nil
	if f.journal {
		f.journal = false
		f.syncFolder()
	}
	return nil
}

func (f *diskFile) Size() (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(len(f.now)), nil
}

func (f *diskFile) Lock(vfs.LockLevel) error         { return nil } // one connection at a time
func (f *diskFile) Unlock(vfs.LockLevel) error       { return nil }
func (f *diskFile) CheckReservedLock() (bool, error) { return false, nil }
func (f *diskFile) SectorSize() int                  { return sector }
func (f *diskFile) SharedMemory() vfs.SharedMemory   { return f.shm }
func (f *diskFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return vfs.IOCAP_POWERSAFE_OVERWRITE
}
