package pebble

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hapax/internal/gateway"
	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/storetest"
)

// spot is a folder, on a real disk or in memory.
type spot struct {
	dir   string
	opts  Options
	flush int64 // see flushing
}

func (p spot) TryOpen() (store.Store, error) {
	s, err := Open(p.dir, p.opts)
	if err != nil {
		return nil, err // not a nil *Store inside an interface
	}
	if p.flush > 0 {
		return &flushing{Store: s, every: p.flush}, nil
	}
	return s, nil
}

func (p spot) Open(t testing.TB) store.Store {
	t.Helper()
	s, err := p.TryOpen()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// flushing is a store whose memtable becomes a table after every few commits and purges, so that rows, and what was dropped of them, are found in
// tables, in the memtable and in both.
type flushing struct {
	*Store
	every int64
	n     atomic.Int64
}

func (f *flushing) Commit(ctx context.Context, b *store.Batch) ([]room.Outcome, error) {
	out, err := f.Store.Commit(ctx, b)
	return out, errors.Join(err, f.maybe(err))
}

func (f *flushing) Purge(ctx context.Context, p store.Policy, now int64) (store.Purged, error) {
	done, err := f.Store.Purge(ctx, p, now)
	return done, errors.Join(err, f.maybe(err))
}

func (f *flushing) Enter(ctx context.Context, now int64, commands []gateway.Command) ([]gateway.Outcome, error) {
	out, err := f.Store.Enter(ctx, now, commands)
	return out, errors.Join(err, f.maybe(err))
}

func (f *flushing) EraseBodies(ctx context.Context, tenant, source string, before int64) (int64, error) {
	n, err := f.Store.EraseBodies(ctx, tenant, source, before)
	return n, errors.Join(err, f.maybe(err))
}

func (f *flushing) maybe(err error) error {
	if err != nil || f.n.Add(1)%f.every != 0 {
		return nil
	}
	return f.db.Flush()
}

func (p spot) open(t testing.TB) *Store {
	t.Helper()
	s, err := Open(p.dir, p.opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (p spot) Plant(t testing.TB, name string, head int64, headID string) {
	t.Helper()
	s := p.open(t)
	s.edit(t, func(b *lsm.Batch) {
		s.w.sums.numbers++
		s.w.sums.rooms++
		row := &roomRow{number: uint32(s.w.sums.numbers), resultLow: head}
		row.State = room.State{Head: head, HeadID: headID, Low: head, LowID: headID}
		if err := setRoom(b, name, row); err != nil {
			t.Fatal(err)
		}
		if err := b.Set(countsKey, appendCounts(nil, &s.w.sums), nil); err != nil {
			t.Fatal(err)
		}
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// edit writes rows behind the store's back.
func (s *Store) edit(t testing.TB, change func(*lsm.Batch)) {
	t.Helper()
	b := s.db.NewBatch()
	change(b)
	if err := b.Commit(lsm.Sync); err != nil {
		t.Fatal(err)
	}
}

// small options make tables, merges and cache misses happen with little data.
func small() Options {
	return Options{CacheBytes: 1 << 20, MemTableBytes: 256 << 10, CachedRooms: 3, PurgeStep: 4}
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t testing.TB) storetest.Place {
		o := small()
		o.FS = vfs.NewMem()
		return spot{dir: "/data", opts: o}
	})
}

func TestBooks(t *testing.T) {
	storetest.RunBooks(t, func(t testing.TB) storetest.Place {
		o := small()
		o.FS = vfs.NewMem()
		return spot{dir: "/data", opts: o}
	})
}

// TestBooksFlushed runs the suite with rows in tables rather than in memory.
func TestBooksFlushed(t *testing.T) {
	storetest.RunBooks(t, func(t testing.TB) storetest.Place {
		o := small()
		o.FS = vfs.NewMem()
		return spot{dir: "/data", opts: o, flush: 3}
	})
}

// TestBooksOnDisk runs the suite on real files.
func TestBooksOnDisk(t *testing.T) {
	storetest.RunBooksFixed(t, func(t testing.TB) storetest.Place {
		return spot{dir: t.TempDir() + "/data", opts: Options{CacheBytes: 8 << 20}}
	})
}

// TestConformanceFlushed runs the suite with rows in tables rather than in memory.
func TestConformanceFlushed(t *testing.T) {
	storetest.Run(t, func(t testing.TB) storetest.Place {
		o := small()
		o.FS = vfs.NewMem()
		return spot{dir: "/data", opts: o, flush: 3}
	})
}

// TestConformanceOnDisk runs the suite on real files too: locks, syncs and marks are those of the system.
func TestConformanceOnDisk(t *testing.T) {
	storetest.RunFixed(t, func(t testing.TB) storetest.Place {
		return spot{dir: t.TempDir() + "/data", opts: Options{CacheBytes: 8 << 20}}
	})
}
