package pebble

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/storetest"
)

// TestBackupAndRestore is R12 by the proper tools: 1..7 backed up, 8..10 gone on, restored. Twice, since a restored store is one like any other.
func TestBackupAndRestore(t *testing.T) {
	for _, running := range []bool{false, true} {
		t.Run(fmt.Sprint("running=", running), func(t *testing.T) {
			base := t.TempDir()
			at := disk(base + "/data")
			s := at.open(t)
			send(t, s, "1", "2", "3", "4", "5", "6", "7")
			if running {
				if err := s.Checkpoint(t.Context(), base+"/backup", 0); err != nil {
					t.Fatal(err)
				}
			} else {
				closed(t, s)
				if err := Backup(t.Context(), base+"/data", base+"/backup", at.opts); err != nil {
					t.Fatal(err)
				}
				s = at.open(t)
			}
			send(t, s, "8", "9", "10")
			was := closed(t, s)
			before := picture(t, vfs.Default, base+"/backup")
			for _, dst := range []string{"/one", "/two"} {
				if err := Restore(t.Context(), base+"/backup", base+dst, at.opts); err != nil {
					t.Fatal(err)
				}
			}
			if picture(t, vfs.Default, base+"/backup") != before {
				t.Fatal("the backup was changed")
			}
			one, two := disk(base+"/one").open(t), disk(base+"/two").open(t)
			defer two.Close()
			defer one.Close()
			a, b := one.Identity(), two.Identity()
			if a.Server != was.Server || b.Server != was.Server || a.Epoch == was.Epoch || b.Epoch == was.Epoch || a.Epoch == b.Epoch {
				t.Fatalf("%+v, %+v, was %+v", a, b, was)
			}
			if out := send(t, one, "7", "8"); out[0].Result.Epoch != was.Epoch || out[1].Result.Epoch != a.Epoch || out[1].Result.Seq != 8 {
				t.Fatalf("%+v", out)
			}
		})
	}
}

// TestBackupOpenedAsItIs: a backup in which someone starts a server is another history too.
func TestBackupOpenedAsItIs(t *testing.T) {
	base := t.TempDir()
	was := life(t, base+"/data", "1")
	if err := Backup(t.Context(), base+"/data", base+"/backup", disk("").opts); err != nil {
		t.Fatal(err)
	}
	if is := life(t, base+"/backup"); is.Epoch == was.Epoch || is.Server != was.Server {
		t.Fatalf("%+v, was %+v", is, was)
	}
	if again := life(t, base+"/data"); again != was {
		t.Fatalf("the original is %+v, was %+v", again, was)
	}
}

// TestBackupOfAStoreWhoseLogWasLost: where nothing was left to replay, the backup of the running store can be opened all the same.
func TestBackupOfAStoreWhoseLogWasLost(t *testing.T) {
	base := t.TempDir()
	life(t, base+"/data", "1")
	life(t, base+"/data", "2") // replays the first log into a table
	logs, err := filepath.Glob(base + "/data/" + folderDB + "/*.log")
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	for _, log := range logs {
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
	}
	s := disk(base + "/data").open(t)
	defer s.Close()
	if err := s.Checkpoint(t.Context(), base+"/backup", 0); err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), base+"/backup", base+"/restored", disk("").opts); err != nil {
		t.Fatal(err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	base := t.TempDir()
	life(t, base+"/data", "1")
	opts := disk("").opts
	if err := errors.Join(os.Mkdir(base+"/full", 0o755), os.WriteFile(base+"/full/x", nil, 0o644), os.Mkdir(base+"/empty", 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), base+"/data", base+"/full", opts); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("into a folder with a file: %v", err)
	}
	if err := Restore(t.Context(), base+"/data", base+"/data", opts); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("onto itself: %v", err)
	}
	if err := Restore(t.Context(), base+"/nowhere", base+"/dst", opts); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("from nowhere: %v", err)
	}
	if err := Backup(t.Context(), base+"/empty", base+"/dst", opts); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of an empty folder: %v", err)
	}
	if _, err := Verify(t.Context(), base+"/empty", opts); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("verify of an empty folder: %v", err)
	}
	if _, err := os.Stat(base + "/dst"); !os.IsNotExist(err) {
		t.Errorf("something was made: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Restore(ctx, base+"/data", base+"/cut", opts); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Open(base+"/cut", opts); !errors.Is(err, store.ErrDamage) {
		t.Errorf("half a restore: %v, want ErrDamage", err)
	}
	if err := Restore(t.Context(), base+"/data", base+"/empty", opts); err != nil {
		t.Errorf("into an empty folder: %v", err)
	}
}

// TestRestoreCutOff fails a restore at every change of the disk: what it leaves doesn't open, or is whole.
func TestRestoreCutOff(t *testing.T) {
	mem := vfs.NewMem()
	seedStore(t, mem)
	for n := int64(1); ; n++ {
		f := &faults{at: n, lasting: true}
		o := small()
		o.FS = errorfs.Wrap(mem, f)
		dst := fmt.Sprint("/restored", n)
		err := Restore(t.Context(), "/data", dst, o)
		o.FS = mem
		s, errOpen := Open(dst, o)
		switch {
		case errOpen != nil && !errors.Is(errOpen, store.ErrDamage):
			t.Fatalf("at %d: %v", n, errOpen)
		case errOpen == nil:
			if st, _ := s.Stats(t.Context()); st.Messages != 12 && st.Messages != 0 { // 0: the folder was still empty
				t.Fatalf("at %d: half a restore opened: %+v", n, st)
			}
			closed(t, s)
		case err == nil:
			t.Fatalf("at %d: restored, but %v", n, errOpen)
		}
		if !f.hit.Load() {
			if err != nil || n < 20 {
				t.Fatalf("at %d: %v", n, err)
			}
			return
		}
	}
}

// TestCheckpointUnderLoad takes backups while others write: each is whole commits, and holds all that was acknowledged before.
func TestCheckpointUnderLoad(t *testing.T) {
	at := spot{dir: "/data", opts: small()}
	at.opts.FS = vfs.NewMem()
	s := at.open(t)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	told := newAcked()
	wg.Go(func() {
		if err := crashLoad(s, told, 5, 0, stop); err != nil {
			t.Error(err)
		}
	})
	for i := range 5 {
		told.mu.Lock()
		before := told.copy()
		told.mu.Unlock()
		dst := fmt.Sprint("/backup", i)
		if err := s.Checkpoint(t.Context(), dst, 0); err != nil {
			t.Error(err)
			break
		}
		rep, err := Verify(t.Context(), dst, at.opts)
		if err != nil || !rep.OK() {
			t.Errorf("%+v, %v", rep, err)
			break
		}
		b := spot{dir: dst, opts: at.opts}.open(t)
		if n := before.lost(t, b, 0); n > 0 {
			t.Errorf("backup %d lacks %d", i, n)
		}
		closed(t, b)
	}
	close(stop)
	wg.Wait()
	closed(t, s)
}

// TestVerifyFinds plants each fault behind the store's back.
func TestVerifyFinds(t *testing.T) {
	del := func(key []byte) func(*lsm.Batch) { return func(b *lsm.Batch) { _ = b.Delete(key, nil) } }
	set := func(key, value []byte) func(*lsm.Batch) {
		return func(b *lsm.Batch) { _ = b.Set(key, value, nil) }
	}
	row := func(seq int64, id string) []byte {
		return appendJournalValue(nil, &room.Message{MessageID: fmt.Sprint("m", seq), Actor: "ann", ID: id, Text: "x", At: 5}, false)
	}
	key := func(id string) []byte { return appendResultKey(nil, 1, "ann", id) }
	seq := func(n int64) []byte { return appendJournalKey(nil, 1, n) }
	for _, c := range []struct {
		name  string
		plant func(*lsm.Batch)
		count func(*Report) int64
	}{
		{"a hole", del(seq(3)), func(r *Report) int64 { return r.Holes }},
		{"an end cut off under its room's head", func(b *lsm.Batch) {
			_ = b.Set(appendRoomsKey(nil, "r"), appendRoomRow(nil, &roomRow{number: 1, State: room.State{Head: 9, HeadID: "m9"}}), nil)
		}, func(r *Report) int64 { return r.WrongHeads }},
		{"a key twice", set(seq(6), row(6, "2")), func(r *Report) int64 { return r.DoubleKeys }},
		{"a row without result", del(key("4")), func(r *Report) int64 { return r.MissingResults }},
		{"a result without row", set(key("ghost"), appendResultValue(nil, ptr(send1("ghost", 77)), 0)), func(r *Report) int64 { return r.MissingRows }},
		{"a result of another row", set(key("2"), appendResultValue(nil, ptr(send1("2", 4)), 0)), func(r *Report) int64 { return r.WrongResults }},
		{"a result of another messageId", set(key("2"), appendResultValue(nil, ptr(send1("2", 2)), 0)), func(r *Report) int64 { return r.WrongResults }},
		{"a row that can't be read", set(seq(2), []byte{1}), func(r *Report) int64 { return r.Unreadable }},
		{"a result that can't be read", set(key("2"), []byte{1}), func(r *Report) int64 { return r.Unreadable }},
		{"a row of no room", set(appendJournalKey(nil, 44, 1), row(1, "1")), func(r *Report) int64 { return r.WrongHeads }},
		{"a result of no room", set(appendResultKey(nil, 44, "ann", "1"), appendResultValue(nil, ptr(send1("1", 1)), 0)), func(r *Report) int64 { return r.MissingRows }},
		{"a row without body above the low end", set(seq(2), appendJournalValue(nil, &room.Message{MessageID: "x", Actor: "ann", ID: "2", At: 5}, true)), func(r *Report) int64 { return r.Holes }},
		{"sums that aren't so", set(countsKey, appendCounts(nil, &counts{commits: 9, numbers: 1, rooms: 1, messages: 4, results: 5})), func(r *Report) int64 { return r.WrongCounts }},
		{"two rooms of one number", set(appendRoomsKey(nil, "s"), appendRoomRow(nil, &roomRow{number: 1})), func(r *Report) int64 { return r.WrongHeads }},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := spot{dir: "/data", opts: small()}
			at.opts.FS = vfs.NewMem()
			s := at.open(t)
			send(t, s, "1", "2", "3", "4", "5")
			sound(t, cloned(t, at))
			s.edit(t, c.plant)
			closed(t, s)
			rep, err := Verify(t.Context(), "/data", at.opts)
			if err != nil {
				t.Fatal(err)
			}
			if rep.OK() || c.count(rep) == 0 || len(rep.Faults) == 0 {
				t.Fatalf("%+v", rep)
			}
		})
	}
}

func send1(id string, seq int64) (r idem.Result) {
	c := storetest.Send("r", "ann", id, id)
	return idem.Result{Fingerprint: c.Fingerprint, MessageID: "planted", Seq: seq, At: storetest.Start}
}

// cloned is the folder of an open store as it lies on disk.
func cloned(t *testing.T, at spot) vfs.FS {
	t.Helper()
	fs := vfs.NewMem()
	if _, err := vfs.Clone(at.opts.FS, fs, "/data", "/data"); err != nil {
		t.Fatal(err)
	}
	return fs
}
