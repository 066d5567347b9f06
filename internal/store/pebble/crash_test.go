package pebble

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/storetest"
)

// acked is what clients were told: an acknowledgement is a promise that no power cut may break.
type acked struct {
	mu      sync.Mutex
	results map[idem.Key]idem.Result
	seen    map[string]map[int64]string // what readers saw: room, seq, messageId
	ids     map[string]bool
	books   toldBooks
	opened  bool // a first life came so far as to be of use
}

func newAcked() *acked {
	return &acked{results: map[idem.Key]idem.Result{}, seen: map[string]map[int64]string{}, ids: map[string]bool{}, books: toldBooks{sends: map[int64]int64{}}}
}

func (a *acked) note(cmds []room.Command, out []room.Outcome) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, o := range out {
		key := cmds[i].Key
		switch o.Kind {
		case room.Accepted:
			if a.ids[o.Result.MessageID] {
				return fmt.Errorf("messageId %q given twice", o.Result.MessageID)
			}
			a.ids[o.Result.MessageID] = true
			if prior, known := a.results[key]; known {
				return fmt.Errorf("%v accepted as row %d and as row %d", key, prior.Seq, o.Result.Seq)
			}
			a.results[key] = o.Result
		case room.Duplicate:
			// The first may have been stored by a commit that a cut kept without its acknowledgement.
			if prior, known := a.results[key]; known && prior != o.Result {
				return fmt.Errorf("%v: duplicate of %+v, first was %+v", key, o.Result, prior)
			}
			a.results[key] = o.Result
		}
	}
	return nil
}

// saw is a reader: it notes all that a view shows.
func (a *acked) saw(s *Store, names []string) error {
	return s.View(context.Background(), func(v store.View) error {
		for _, name := range names {
			rows, _, err := v.Before(name, room.MaxSeq, 20, 1<<20)
			if err != nil {
				return err
			}
			a.mu.Lock()
			if a.seen[name] == nil {
				a.seen[name] = map[int64]string{}
			}
			for _, m := range rows {
				a.seen[name][m.Seq] = m.MessageID
			}
			a.mu.Unlock()
		}
		return nil
	})
}

// lost counts what was promised or shown and isn't there. Of every tenth life it looks at all, of the others at what is new in the last two.
func (a *acked) lost(t testing.TB, s *Store, life int) (lost int) {
	t.Helper()
	err := s.View(t.Context(), func(v store.View) error {
		for key, want := range a.results {
			if since, _, _ := strings.Cut(key.ID, "-"); life%10 != 0 && since != fmt.Sprint(life-1) && since != fmt.Sprint(life-2) {
				continue
			}
			got, known, err := v.Result(key)
			if err != nil {
				return err
			}
			if !known || got != want {
				lost++
			}
		}
		for name, rows := range a.seen {
			st, err := v.Room(name)
			if err != nil {
				return err
			}
			for seq, id := range rows {
				got, held, err := v.MessageID(name, seq)
				if err != nil {
					return err
				}
				if seq > st.Head || seq > st.Low && (!held || got != id) {
					lost++
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("reading after the cut: %v", err)
	}
	return lost + a.lostBooks(t, s, life%10 == 0)
}

var crashRooms = []string{"a", "b", "c"}

// crashLoad writes, repeats, reads and purges until stop is closed.
func crashLoad(s *Store, a *acked, seed uint64, life int, stop <-chan struct{}) error {
	a.mu.Lock()
	a.opened = true
	a.mu.Unlock()
	var wg sync.WaitGroup
	defer wg.Wait()
	fail := make(chan error, 1)
	beside := func(do func() error) (again func()) {
		kick := make(chan struct{}, 1)
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-kick:
				}
				if err := do(); err != nil {
					select {
					case fail <- err:
					default:
					}
				}
			}
		})
		return func() {
			select {
			case kick <- struct{}{}:
			default:
			}
		}
	}
	read := beside(func() error { return a.saw(s, crashRooms) })
	purge := beside(func() error { // the journal by number, and never a result
		_, err := s.Purge(context.Background(), store.Policy{JournalRows: 40}, storetest.Start)
		if err == nil {
			_, err = s.EraseBodies(context.Background(), "t", "s", 1<<60)
		}
		return err
	})
	load := newBookLoad(seed, uint64(life))
	rng := rand.New(rand.NewPCG(seed, uint64(life)))
	for n := 0; ; n++ {
		select {
		case <-stop:
			return nil
		case err := <-fail:
			return err
		default:
		}
		b := crashBatch(rng, life, n)
		out, err := s.Commit(context.Background(), b)
		if err != nil {
			return err
		}
		if err := a.note(b.Commands, out); err != nil {
			return err
		}
		if err := errors.Join(load.enter(s), a.sawBooks(s)); err != nil {
			return err
		}
		read()
		if n%8 == 0 {
			purge()
		}
	}
}

// crashBatch is the n-th batch of a life: new sends, and repeats of earlier ones.
func crashBatch(rng *rand.Rand, life, n int) *store.Batch {
	b := &store.Batch{Now: storetest.Start, RetentionMs: 1 << 40, Judge: room.Decide}
	for i := range 1 + rng.IntN(12) {
		id := fmt.Sprint(life, "-", n, "-", i)
		if n > 0 && rng.IntN(4) == 0 {
			id = fmt.Sprint(life, "-", rng.IntN(n), "-0")
		}
		name := crashRooms[len(id)%len(crashRooms)]
		b.Commands = append(b.Commands, storetest.Send(name, "ann", id, id+strings.Repeat(".", len(id)*7%300)))
	}
	return b
}

// cutter is a file system that takes a picture of itself, as a power cut would leave it, right before its n-th change.
type cutter struct {
	mu   sync.Mutex
	fs   *vfs.MemFS
	left int
	rng  *rand.Rand
	a    *acked
	cut  *vfs.MemFS    // what the power cut left
	told *acked        // what was promised by then
	done chan struct{} // closed when the picture is taken
}

func (c *cutter) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left != 0 {
		return nil
	}
	c.a.mu.Lock() // nobody is told anything while the picture is taken
	defer c.a.mu.Unlock()
	c.told = c.a.copy()
	c.cut = c.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: c.rng.IntN(101), RNG: c.rng})
	close(c.done)
	return nil
}

func (c *cutter) String() string { return "cutter" }

func (a *acked) copy() *acked {
	c := &acked{results: maps.Clone(a.results), ids: maps.Clone(a.ids), seen: map[string]map[int64]string{}, opened: a.opened, books: a.books}
	c.books.sends = maps.Clone(a.books.sends)
	for name, rows := range a.seen {
		c.seen[name] = maps.Clone(rows)
	}
	return c
}

// powerCuts runs a store through lives that each end in a power cut at a random change of the disk, from opening to deep under load, and counts
// what was lost of what had been promised or shown.
func powerCuts(t *testing.T, seed uint64, cuts int, unsynced bool) (lost, kept int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 99))
	fs, told := vfs.NewCrashableMem(), newAcked()
	epoch := ""
	for life := range cuts {
		c := &cutter{fs: fs, left: 1 + rng.IntN(1+rng.IntN(400)), rng: rng, a: told, done: make(chan struct{})}
		o := Options{
			CacheBytes: 1 << 20, MemTableBytes: 64 << 10, PurgeStep: 16, CachedRooms: 2, NoteEvery: -1,
			FS: errorfs.Wrap(fs, c), unsynced: unsynced,
		}
		s, err := Open("/data", o)
		if err != nil {
			t.Fatalf("seed %d, life %d: %v", seed, life, err)
		}
		if epoch != "" && !unsynced && s.Identity().Epoch != epoch {
			t.Fatalf("seed %d, life %d: a power cut began a new epoch: %s", seed, life, s.NewEpochReason())
		}
		n := told.lost(t, s, life)
		if n > 0 && !unsynced {
			t.Fatalf("seed %d, life %d: %d of %d promises broken", seed, life, n, len(told.results))
		}
		if lost += n; n > 0 {
			t.Logf("life %d: %d lost", life, n)
			return lost, len(told.results)
		}
		if err := crashLoad(s, told, seed, life, c.done); err != nil {
			t.Fatalf("seed %d, life %d: %v", seed, life, err)
		}
		if c.told.opened {
			epoch = s.Identity().Epoch
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		fs, told = c.cut, c.told
		if life%10 == 0 && c.told.opened {
			sound(t, fs)
		}
	}
	return lost, len(told.results)
}

// sound verifies what a cut left.
func sound(t *testing.T, fs vfs.FS) {
	t.Helper()
	rep, err := Verify(t.Context(), "/data", Options{FS: fs, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	if !rep.OK() {
		t.Fatalf("verify: %+v", rep)
	}
}

// TestPowerCuts: nothing acknowledged and nothing that a reader ever saw is lost, no key twice, seqs dense, the epoch kept.
func TestPowerCuts(t *testing.T) {
	lives, seeds := 130, 4
	if testing.Short() { // under the race detector
		lives, seeds = 25, 2
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			t.Parallel()
			if lost, kept := powerCuts(t, seed, lives, false); lost > 0 || kept < lives {
				t.Fatalf("%d lost, %d kept", lost, kept)
			}
		})
	}
}

// TestPowerCutsCanFail is the same with commits that don't wait for the disk: it must lose something.
func TestPowerCutsCanFail(t *testing.T) {
	if lost, _ := powerCuts(t, 7, 100, true); lost == 0 {
		t.Fatal("a store that doesn't sync lost nothing: the test sees nothing")
	}
}
