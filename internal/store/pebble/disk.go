package pebble

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hapax/internal/store"
)

// A disk has to hold, beyond what is stored, the next log, the tables that full memtables become, and what a merge writes before it drops what it
// read. Sends end while there is room for a log and all memtables that may be full; merges leave room for those that are. Reads need none.

const (
	// A memtable is at most this part of the disk, and of what is free of it: with the logs kept for reuse a store takes a tenth of a disk that
	// holds nothing else. On disks of 4 GB and more that is Options.MemTableBytes' own default.
	memTableOfDisk = 64
	memTableOfFree = 8
	minMemTable    = 1 << 20
	maxMemTable    = 64 << 20
	// diskSlack is for what has no size of its own: manifest, options, marks, notes.
	diskSlack = 1 << 20
	diskEvery = time.Second
)

// diskWatch watches how much is free where the store lies. A file system that can't say counts as one with room.
type diskWatch struct {
	fs       vfs.FS
	dir      string
	log      *slog.Logger
	need     int64 // the next log, and one flush
	lowWater int64
	flushes  int64        // what all memtables become that may be full
	pending  atomic.Int64 // what those become that are
	free     atomic.Int64 // as of the last look
	written  atomic.Int64 // since then, by this store
	total    atomic.Int64
	low      atomic.Bool

	mu       sync.Mutex
	listener func(store.Disk)
	stop     chan struct{}
	done     chan struct{}
}

// measureDisk sizes memtable and logs by the disk, where the options leave that open.
func (o *Options) measureDisk(fs vfs.FS, dir string) *diskWatch {
	d := &diskWatch{fs: fs, dir: dir, log: o.Logger, stop: make(chan struct{}), done: make(chan struct{})}
	d.free.Store(math.MaxInt64)
	usage, err := fs.GetDiskUsage(dir)
	if o.MemTableBytes == 0 {
		o.MemTableBytes = maxMemTable
		if err == nil {
			o.MemTableBytes = max(minMemTable, min(maxMemTable, usage.TotalBytes/memTableOfDisk, usage.AvailBytes/memTableOfFree))
		}
	}
	d.need = logBytes(o.MemTableBytes) + int64(o.MemTableBytes) + diskSlack
	d.flushes = memTables * int64(o.MemTableBytes)
	d.pending.Store(d.flushes)
	d.lowWater = max(o.LowWater, logBytes(o.MemTableBytes)+d.flushes+diskSlack)
	d.look()
	return d
}

// logBytes is what Pebble reserves for a log.
func logBytes(memTable uint64) int64 { return int64(memTable + memTable/10) }

// look asks how much is free, and lets it be known where that passes the mark. It is over once an eighth more is free, so that it doesn't flutter.
func (d *diskWatch) look() {
	written := d.written.Load()
	usage, err := d.fs.GetDiskUsage(d.dir)
	if err != nil {
		return
	}
	free := int64(min(usage.AvailBytes, math.MaxInt64))
	d.free.Store(free)
	d.written.Add(-written)
	d.total.Store(int64(min(usage.TotalBytes, math.MaxInt64)))
	was := d.low.Load()
	is := free < d.lowWater || was && free < d.lowWater+d.lowWater/8
	if is == was || !d.low.CompareAndSwap(was, is) {
		return
	}
	if is {
		d.log.Error("store: the disk is nearly full; sends and deliveries are refused until there is room", "free", free, "mark", d.lowWater)
	} else {
		d.log.Info("store: the disk has room again", "free", free)
	}
	d.tell()
}

func (d *diskWatch) tell() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.listener != nil {
		d.listener(d.state())
	}
}

func (d *diskWatch) state() store.Disk {
	return store.Disk{Free: d.free.Load(), Total: d.total.Load(), LowWater: d.lowWater, Low: d.low.Load()}
}

// wrote notes what the store wrote or reserved, so that a disk that fills fast is looked at before it is full, and not a second later.
func (d *diskWatch) wrote(bytes int64) {
	if d != nil {
		d.written.Add(bytes)
	}
}

// near says whether less may be free than a few times the mark.
func (d *diskWatch) near() bool { return d.free.Load()-d.written.Load() < 4*d.lowWater }

// room says that no more may be stored. Far from the mark it costs two reads of memory.
func (d *diskWatch) room() error {
	if d.near() {
		d.look()
	}
	if !d.low.Load() {
		return nil
	}
	return fmt.Errorf("%w: %w: %s free, the mark is %s", store.ErrAgain, store.ErrFull, megabytes(d.free.Load()), megabytes(d.lowWater))
}

// tight says that what is dropped should be given back at once, and not only at rest.
func (d *diskWatch) tight() bool { return d.free.Load() < 4*d.lowWater }

// closing says that the store is being closed: what is merged for later ends.
func (d *diskWatch) closing() bool {
	select {
	case <-d.stop:
		return true
	default:
		return false
	}
}

// roomToMerge says whether a merge may write so much: it leaves what logs and flushes need.
func (d *diskWatch) roomToMerge(bytes int64) bool {
	if !d.near() {
		return true
	}
	d.look()
	return d.free.Load() >= d.pending.Load()+d.need+bytes
}

// watch looks every so often, so that a disk that others fill is known, and one that they cleared.
func (d *diskWatch) watch(db *lsm.DB) {
	defer close(d.done)
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			d.look()
			if d.free.Load() < 4*d.lowWater {
				d.pending.Store(min(d.flushes, int64(db.Metrics().MemTable.Size)))
			}
		case <-d.stop:
			return
		}
	}
}

func (d *diskWatch) close() {
	close(d.stop)
	<-d.done
}

// WatchDisk calls f with how the disk stands, now and whenever it passes the low-water mark. f must not call the store.
func (s *Store) WatchDisk(f func(store.Disk)) {
	s.disk.mu.Lock()
	s.disk.listener = f
	s.disk.mu.Unlock()
	s.disk.tell()
}

// Disk says how the disk stands.
func (s *Store) Disk() store.Disk { return s.disk.state() }

// roomToOpen refuses an opening that the disk has no room for, before anything is written: the logs become tables, and a new log is made.
func (s *Store) roomToOpen() error {
	names, err := s.folder.fs.List(s.folder.path(folderDB))
	if err != nil {
		return nil // there is none, or it is told by who reads it
	}
	needs := s.disk.need
	for _, name := range names {
		if strings.HasSuffix(name, ".log") {
			if info, err := s.folder.fs.Stat(s.folder.fs.PathJoin(s.folder.path(folderDB), name)); err == nil {
				needs += info.Size()
			}
		}
	}
	if free := s.disk.free.Load(); free < needs {
		return fmt.Errorf("%w: %s lies where %s are free, and the start needs %s", store.ErrFull, s.folder.dir, megabytes(free), megabytes(needs))
	}
	return nil
}

// full makes an error that says so out of one that the disk gave for want of room, and gives back what a failed opening wrote.
func (s *Store) full(err error, had map[string]bool) error {
	if had != nil {
		s.giveBack(had)
	}
	if err == nil || errors.Is(err, store.ErrFull) || !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return fmt.Errorf("%w: %s needs %s more at least: %w", store.ErrFull, s.folder.dir, megabytes(s.disk.need), err)
}

// databaseFiles are the files of the database.
func (f folder) databaseFiles() map[string]bool {
	names, err := f.fs.List(f.path(folderDB))
	if err != nil {
		return nil
	}
	had := make(map[string]bool, len(names))
	for _, name := range names {
		had[name] = true
	}
	return had
}

// giveBack removes the files that an opening made before it failed: nothing names them while the marker still names the manifest of before. Else a
// disk that is full stays so, however often the start is tried.
func (s *Store) giveBack(had map[string]bool) {
	now := s.folder.databaseFiles()
	for name := range had {
		if strings.HasPrefix(name, "marker.manifest.") && !now[name] {
			return
		}
	}
	for name := range now {
		if !had[name] {
			_ = s.folder.fs.Remove(s.folder.fs.PathJoin(s.folder.path(folderDB), name)) // what can't be removed stays
		}
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }
