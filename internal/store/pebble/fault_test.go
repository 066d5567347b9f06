package pebble

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/storetest"
)

// faults fails the n-th change of the disk, and with lasting all changes from there on, as a full disk does.
type faults struct {
	at      int64
	lasting bool
	reads   bool // it counts and fails reads instead
	n       atomic.Int64
	hit     atomic.Bool
	healed  atomic.Bool
}

func (f *faults) MaybeError(op errorfs.Op) error {
	if f.healed.Load() || (op.Kind.ReadOrWrite() == errorfs.OpIsRead) != f.reads {
		return nil
	}
	n := f.n.Add(1)
	if n == f.at || f.lasting && n > f.at {
		f.hit.Store(true)
		return &vfsError{op: fmt.Sprint(op.Kind), path: op.Path}
	}
	return nil
}

func (f *faults) String() string { return "faults" }

type vfsError struct{ op, path string }

func (e *vfsError) Error() string { return e.op + " " + e.path + ": " + syscall.ENOSPC.Error() }
func (e *vfsError) Unwrap() error { return syscall.ENOSPC }

// stride is 1, so that every change of the disk fails once; under the race detector a sample must do.
func stride() int64 {
	if testing.Short() {
		return 9
	}
	return 1
}

// TestEveryWriteFails fails the disk at the n-th change, for every n until nothing is left to fail, once and for good.
func TestEveryWriteFails(t *testing.T) {
	for _, lasting := range []bool{false, true} {
		t.Run(fmt.Sprint("lasting=", lasting), func(t *testing.T) {
			t.Parallel()
			broken := 0
			for n := int64(1); ; n += stride() {
				f := &faults{at: n, lasting: lasting}
				if errors.Is(failAt(t, f), store.ErrBroken) {
					broken++
				}
				if !f.hit.Load() {
					t.Logf("%d changes, %d broke a commit", n-1, broken)
					if n < 100 || broken < 50/int(stride()) {
						t.Fatalf("only %d changes, %d of them broke a commit: the workload is too small", n, broken)
					}
					return
				}
			}
		})
	}
}

// TestEveryReadFails fails the n-th read, for every n. A failed read is an error of that call; it breaks nothing.
func TestEveryReadFails(t *testing.T) {
	for n := int64(1); ; n += stride() {
		f := &faults{at: n, reads: true}
		failAt(t, f)
		if !f.hit.Load() {
			t.Logf("%d reads", n-1)
			if n < 50 {
				t.Fatalf("only %d reads", n)
			}
			return
		}
	}
}

// failAt runs a small life with faults, then opens what is left on the healed disk, and as a power cut would have left it: all that
// was acknowledged is there, nothing twice, and the store goes on. It returns the first error of the life.
func failAt(t *testing.T, f *faults) error {
	t.Helper()
	mem := vfs.NewCrashableMem()
	seedStore(t, mem)
	told := newAcked()
	first := faultyLife(t, errorfs.Wrap(mem, f), told)
	f.healed.Store(true)
	for _, fs := range []*vfs.MemFS{mem.CrashClone(vfs.CrashCloneCfg{}), mem} {
		sound(t, fs)
		o := small()
		o.FS = fs
		s, err := Open("/data", o)
		if err != nil {
			t.Fatalf("at %d: opening after %v: %v", f.at, first, err)
		}
		if n := told.lost(t, s, 0); n > 0 {
			t.Fatalf("at %d: %d lost after %v", f.at, n, first)
		}
		if _, err := s.Commit(t.Context(), faultBatch(1000)); err != nil {
			t.Fatalf("at %d: commit after opening anew: %v", f.at, err)
		}
		if err := newBookLoad(1, 2).enter(s); err != nil {
			t.Fatalf("at %d: enter after opening anew: %v", f.at, err)
		}
		if err := s.Close(); err != nil {
			t.Fatalf("at %d: %v", f.at, err)
		}
	}
	return first
}

// seedStore makes a store with some tables, so that a life reads.
func seedStore(t *testing.T, fs vfs.FS) {
	t.Helper()
	o := small()
	o.FS = fs
	s, err := Open("/data", o)
	if err != nil {
		t.Fatal(err)
	}
	load := newBookLoad(1, 0)
	for n := range 3 {
		if _, err := s.Commit(t.Context(), faultBatch(-n-1)); err != nil {
			t.Fatal(err)
		}
		if err := load.enter(s); err != nil {
			t.Fatal(err)
		}
		if err := s.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func faultBatch(n int) *store.Batch {
	b := &store.Batch{Now: storetest.Start, RetentionMs: 1 << 40, Judge: room.Decide}
	for i := range 4 {
		id := fmt.Sprintf("%d-%d", n, i)
		b.Commands = append(b.Commands, storetest.Send(crashRooms[i%3], "ann", id, id))
	}
	b.Commands = append(b.Commands, storetest.Send("a", "ann", "-1-0", "-1-0")) // a repeat of a row in a table
	return b
}

// faultyLife opens, commits, flushes, purges, backs up and closes. Once a call said ErrBroken all others must.
func faultyLife(t *testing.T, fs vfs.FS, told *acked) (first error) {
	t.Helper()
	o := small()
	o.FS, o.NoteEvery = fs, -1
	s, err := Open("/data", o)
	if err != nil {
		return err
	}
	defer s.Close()
	note := func(err error) {
		if first == nil {
			first = err
		}
		if err == nil && errors.Is(first, store.ErrBroken) {
			t.Fatalf("served after %v", first)
		}
	}
	ctx, load := context.Background(), newBookLoad(1, 1)
	for n := range 12 {
		b := faultBatch(n)
		out, err := s.Commit(ctx, b)
		if note(err); err == nil {
			if err := told.note(b.Commands, out); err != nil {
				t.Fatal(err)
			}
		}
		note(told.saw(s, crashRooms))
		note(load.enter(s))
		note(told.sawBooks(s))
		if n%4 == 3 {
			_, err := s.Purge(ctx, store.Policy{JournalRows: 6}, storetest.Start)
			note(err)
			_, err = s.EraseBodies(ctx, "t", "s", 1<<60)
			note(err)
			if s.broken() == nil {
				flushed(s) // what it says of the disk shows in the next call
			}
		}
	}
	if s.broken() == nil {
		_ = s.Checkpoint(ctx, "/backup", 0) // a backup that fails costs nothing but itself
	}
	return first
}

// flushed waits until the memtable is a table, or there was no room for one.
func flushed(s *Store) {
	done, err := s.db.AsyncFlush()
	for err == nil && s.broken() == nil && s.guard.crowded.Load() == 0 {
		select {
		case <-done:
			return
		default:
			runtime.Gosched()
		}
	}
}
