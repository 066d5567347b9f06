package pebble

import (
	"errors"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A table that finds no room on the disk breaks nothing: what it was to hold is still in a log, or in the tables that it was to take the place of.
// Pebble drops it and tries again; what is stored meanwhile is refused at the low-water mark.

// Pebble itself makes no pause between two tries. A flush holds up commits, so it comes soon; a merge begins again from nothing.
const (
	flushPause = 200 * time.Millisecond
	mergePause = 5 * time.Second
)

func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

// table makes a table.
func (g *guard) table(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	merge := c != "pebble-memtable-flush"
	if merge && !g.roomToMerge(tableBytes) {
		return nil, g.later(mergePause, syscall.ENOSPC)
	}
	var full error
	f, err := g.file(name, func() (vfs.File, error) {
		f, err := g.FS.Create(name, c)
		if errors.Is(err, syscall.ENOSPC) {
			full, err = err, nil
		}
		return f, err
	})
	if full != nil {
		return nil, g.later(flushPause, full)
	}
	if gf, ok := f.(*guardedFile); ok && !gf.void {
		return &tableFile{guardedFile: gf, merge: merge}, err
	}
	return f, err
}

func (g *guard) roomToMerge(bytes int64) bool {
	return g.disk == nil || g.disk.roomToMerge(min(bytes, g.disk.flushes/memTables))
}

// later is an error that must not make Pebble try again at once.
func (g *guard) later(pause time.Duration, err error) error {
	g.crowded.Add(1)
	if g.disk == nil {
		return err
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.disk.stop:
	}
	return err
}

// errClosing ends a merge that would hold up the closing of the store; the tables that it reads stay.
var errClosing = errors.New("the store is being closed")

// tableFile is a table being written.
type tableFile struct {
	*guardedFile
	merge bool // its rows are in other tables
}

func (f *tableFile) Write(p []byte) (int, error) {
	if f.merge && f.guard.disk != nil && f.guard.disk.closing() {
		return 0, errClosing
	}
	if f.merge && !f.guard.roomToMerge(int64(len(p))) {
		return 0, f.guard.later(mergePause, syscall.ENOSPC)
	}
	var full error
	written := len(p)
	f.guard.change(func() error {
		n, err := f.File.Write(p)
		if err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
		if errors.Is(err, syscall.ENOSPC) {
			full, written, err = err, n, nil
		}
		f.guard.disk.wrote(int64(n))
		return err
	})
	if full != nil {
		return written, f.guard.later(flushPause, full)
	}
	return written, nil
}
