package cases

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the real file system, whose syncs of the database's log can be held, and whose power can be cut: then each log is cut back to
// what its last sync covered.
type disk struct {
	vfs.FS
	mu     sync.Mutex
	held   chan struct{} // syncs of the log wait for its close
	came   chan struct{} // closed when one waits
	synced map[string]int64
}

func newDisk() *disk {
	return &disk{FS: vfs.Default, came: make(chan struct{}), synced: map[string]int64{}}
}

func (d *disk) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = make(chan struct{})
}

func (d *disk) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held != nil {
		close(d.held)
		d.held = nil
	}
}

func (d *disk) arrived() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.came
}

// cut is a power cut: it doesn't return. A log of which nothing is known was synced whole by an earlier process.
func (d *disk) cut() error {
	d.mu.Lock()
	for name, size := range d.synced {
		if err := os.Truncate(name, size); err != nil && !errors.Is(err, os.ErrNotExist) {
			d.mu.Unlock()
			return err
		}
	}
	os.Exit(137)
	return nil
}

// Create implements vfs.FS.
func (d *disk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	return d.watch(name, f), err
}

// ReuseForWrite implements vfs.FS.
func (d *disk) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(from, to, c)
	return d.watch(to, f), err
}

func (d *disk) watch(name string, f vfs.File) vfs.File {
	if f == nil || !strings.HasSuffix(name, ".log") {
		return f
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced[name] = 0
	return &logFile{File: f, disk: d, name: name}
}

// logFile counts what was written, and notes it at each sync. It is written and synced by different goroutines.
type logFile struct {
	vfs.File
	disk    *disk
	name    string
	written int64 // guarded by disk.mu
}

var _ io.Writer = (*logFile)(nil)

// Write implements vfs.File.
func (f *logFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.written += int64(n)
	return n, err
}

func (f *logFile) sync(how func() error) error {
	d := f.disk
	d.mu.Lock()
	covered, held := f.written, d.held
	if held != nil {
		select {
		case <-d.came:
		default:
			close(d.came)
		}
	}
	d.mu.Unlock()
	if held != nil {
		<-held
	}
	err := how()
	if err == nil {
		d.mu.Lock()
		d.synced[f.name] = max(d.synced[f.name], covered)
		d.mu.Unlock()
	}
	return err
}

// Sync implements vfs.File.
func (f *logFile) Sync() error { return f.sync(f.File.Sync) }

// SyncData implements vfs.File.
func (f *logFile) SyncData() error { return f.sync(f.File.SyncData) }

// SyncTo implements vfs.File.
func (f *logFile) SyncTo(int64) (bool, error) { return true, f.sync(f.File.SyncData) }
