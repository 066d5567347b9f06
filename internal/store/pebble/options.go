package pebble

import (
	"log/slog"
	"math"
	"os"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// maxRooms bounds the rooms of a store: a room's number takes four bytes of every key, and 0 means none.
const maxRooms = math.MaxUint32

// memTables bounds the full memtables in memory, tableBytes a table at the top.
const (
	memTables  = 4
	tableBytes = 8 << 20
)

// Options are the store's bounds. The zero value of a field means its default.
type Options struct {
	// CacheBytes is the memory for blocks read from disk (default 256 MB). The filters of 10 million keys take 13 MB and the
	// indexes as much again; with these in memory a look-up of an unknown key reads nothing.
	CacheBytes int64
	// MemTableBytes is what gathers in memory before it is written as a table (default 64 MB, less on disks below 4 GB, see disk.go): large
	// enough that tables are few and merged rarely, small enough that a restart replays it within a second.
	MemTableBytes uint64
	// OpenFiles bounds the tables held open (default 1,000): half of the 1,024 file descriptors that a process usually has would
	// be too few for connections, so a server raises its limit first.
	OpenFiles int
	// CachedRooms bounds the rooms whose state stays in memory (default 100,000, about 300 bytes each).
	CachedRooms int
	// PurgeStep bounds the rows that a purge drops in one batch (default 1,024): a commit waits for one such batch at most, some
	// milliseconds.
	PurgeStep int
	// NoteEvery is the least time between two writes of the head note (default 1 s). The note is a sync of its own beside the
	// commits'; one a second can't be felt. A negative value writes it after every commit.
	NoteEvery time.Duration
	// LowWater is how much must be free on the disk for anything to be stored (default, and at least: what a log and all full memtables need, see disk.go).
	LowWater int64
	// Logger gets what the database says of itself; nil: nothing is logged.
	Logger *slog.Logger
	// Mode is that of folders that are made, files have it without the bits for running (default DefaultMode). What is there keeps its own.
	Mode os.FileMode
	// FS is the file system (default: the real one). Tests give one that fails or forgets.
	FS vfs.FS

	// unsynced makes commits return before they are on disk. Only the test that proves the power-cut test able to fail sets it.
	unsynced bool
	// identify replaces the reading of inode and ctime in tests.
	identify func(fs vfs.FS, path string) (fileIdentity, error)
}

func (o Options) withDefaults() Options {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 256 << 20
	}
	def(&o.OpenFiles, 1000)
	def(&o.CachedRooms, 100_000)
	def(&o.PurgeStep, 1024)
	if o.NoteEvery == 0 {
		o.NoteEvery = time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.FS == nil {
		o.FS = onDisk(o.Mode)
	}
	if o.identify == nil {
		o.identify = identify
	}
	return o
}

// database returns Pebble's options for these.
func (o *Options) database(g *guard) *lsm.Options {
	memTable := o.MemTableBytes
	if memTable == 0 {
		memTable = maxMemTable // of who only reads
	}
	opts := &lsm.Options{
		FS:                 g,
		Comparer:           comparer,
		FormatMajorVersion: lsm.FormatValueSeparation, // fixed, so that a newer library doesn't change the folder by itself
		CacheSize:          o.CacheBytes,
		MemTableSize:       memTable,
		// Full memtables may wait for their tables before commits do: a burst of half a million messages.
		MemTableStopWritesThreshold: memTables,
		// Merge level 0 from 4 overlapping tables on, since each costs every look-up a filter; stop commits at 24 rather than 12,
		// so that a merge that is late by some seconds can't be felt.
		L0CompactionThreshold: 4,
		L0StopWritesThreshold: 24,
		MaxOpenFiles:          o.OpenFiles,
		DisableWAL:            false,
		Logger:                &dbLog{log: o.Logger, guard: g},
	}
	opts.TargetFileSizes[0] = min(tableBytes, int64(memTable)) // the default 2 MB makes 500 files a GB, each an open file and an entry in the manifest
	for i := range opts.Levels {
		l := &opts.Levels[i]
		l.BlockSize = 16 << 10
		l.IndexBlockSize = 64 << 10
		l.FilterPolicy = bloom.FilterPolicy(10) // 10 bits a key: 1 of 100 unknown keys reads a block in vain
		l.FilterType = lsm.TableFilter
		// Ids and hashes don't compress; text does, but only where it comes to rest is it worth the time.
		l.Compression = func() *block.CompressionProfile { return block.NoCompression }
	}
	opts.Levels[len(opts.Levels)-1].Compression = func() *block.CompressionProfile { return block.SnappyCompression }
	opts.EventListener = events(o.Logger)
	return opts
}
