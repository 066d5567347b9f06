package pebble

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/storetest"
)

// disk is a store on real files, as these tests need inodes.
func disk(dir string) spot { return spot{dir: dir, opts: Options{CacheBytes: 8 << 20, NoteEvery: -1}} }

func send(t testing.TB, s *Store, ids ...string) []room.Outcome {
	t.Helper()
	b := &store.Batch{Now: storetest.Start, RetentionMs: 1 << 40, Judge: room.Decide}
	for _, id := range ids {
		b.Commands = append(b.Commands, storetest.Send("r", "ann", id, id))
	}
	out, err := s.Commit(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func closed(t testing.TB, s *Store) store.Identity {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.Identity()
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// life opens the folder, sends, closes, and returns the identity that it had.
func life(t *testing.T, dir string, ids ...string) store.Identity {
	t.Helper()
	s := disk(dir).open(t)
	send(t, s, ids...)
	return closed(t, s)
}

// TestCopiedBackByHand is case R12: a folder that an operator put back, in any of the ways that operators know, is another epoch by
// itself; the same server.
func TestCopiedBackByHand(t *testing.T) {
	for _, c := range []struct {
		name string
		save func(t *testing.T, data, safe string)
		back func(t *testing.T, data, safe string)
		// keeps: the newer files lie beside the older ones, and Pebble goes by the newer. Nothing went back.
		keeps bool
	}{
		{"cp -a in place of the folder",
			func(t *testing.T, data, safe string) { run(t, "cp", "-a", data, safe) },
			func(t *testing.T, data, safe string) { run(t, "rm", "-r", data); run(t, "cp", "-a", safe, data) }, false},
		{"cp -a, the copy renamed into place",
			func(t *testing.T, data, safe string) { run(t, "cp", "-a", data, safe) },
			func(t *testing.T, data, safe string) { run(t, "mv", data, data+".old"); run(t, "mv", safe, data) }, false},
		{"cp -a over the files",
			func(t *testing.T, data, safe string) { run(t, "cp", "-a", data, safe) },
			func(t *testing.T, data, safe string) { run(t, "cp", "-a", safe+"/.", data) }, true},
		{"tar over the folder",
			func(t *testing.T, data, safe string) { run(t, "tar", "-cf", safe, "-C", data, ".") },
			func(t *testing.T, data, safe string) { run(t, "tar", "-xf", safe, "-C", data) }, true},
		{"tar into an empty folder",
			func(t *testing.T, data, safe string) { run(t, "tar", "-cf", safe, "-C", data, ".") },
			func(t *testing.T, data, safe string) {
				run(t, "rm", "-r", data)
				run(t, "mkdir", data)
				run(t, "tar", "-xf", safe, "-C", data)
			}, false},
		{"hard links",
			func(t *testing.T, data, safe string) { run(t, "cp", "-al", data, safe) },
			func(t *testing.T, data, safe string) { run(t, "rm", "-r", data); run(t, "mv", safe, data) }, false},
		{"only the database's folder",
			func(t *testing.T, data, safe string) { run(t, "cp", "-a", data+"/db", safe) },
			func(t *testing.T, data, safe string) { run(t, "rm", "-r", data+"/db"); run(t, "mv", safe, data+"/db") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, safe := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "safe")
			first := life(t, data, "1", "2", "3", "4", "5", "6", "7")
			c.save(t, data, safe)
			was := life(t, data, "8", "9", "10")
			c.back(t, data, safe)
			s := disk(data).open(t)
			id := s.Identity()
			out := send(t, s, "8", "1")
			back := out[0].Kind == room.Accepted // its row 8 is gone: the store is at 7
			if id.Server != was.Server || back != (id.Epoch != was.Epoch) || back == c.keeps {
				t.Fatalf("went back: %v, identity %+v, was %+v", back, id, was)
			}
			if back != (s.NewEpochReason() != "") {
				t.Fatalf("the reason: %q", s.NewEpochReason())
			}
			if out[1].Kind != room.Duplicate || out[1].Result.Epoch != first.Epoch {
				t.Fatalf("the first row's repeat: %+v", out[1])
			}
			closed(t, s)
			if again := life(t, data); again != id {
				t.Fatalf("after a plain restart %+v, want %+v", again, id)
			}
		})
	}
}

// TestHotCopyBack is a copy of a running store, put back without a restart in between: the mark's name is the same in both.
func TestHotCopyBack(t *testing.T) {
	data, safe := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "safe")
	s := disk(data).open(t)
	send(t, s, "1", "2")
	run(t, "cp", "-a", data, safe)
	send(t, s, "3")
	was := closed(t, s)
	run(t, "cp", "-a", safe+"/.", data)
	s = disk(data).open(t)
	defer s.Close()
	if s.Identity().Epoch == was.Epoch {
		t.Fatal("the epoch stayed")
	}
}

// TestSyncedBack lays the copy of a running store back as rsync does: what has the same size and time stays, the mark among it; what differs is
// renamed over; what is more is removed. The note's inode tells it.
func TestSyncedBack(t *testing.T) {
	data, safe := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "safe")
	s := disk(data).open(t)
	send(t, s, "1", "2")
	run(t, "cp", "-a", data, safe)
	send(t, s, "3")
	was := closed(t, s)
	kept := 0
	for _, path := range files(t, vfs.Default, data) {
		if _, err := os.Stat(safe + path[len(data):]); os.IsNotExist(err) {
			run(t, "rm", path)
		}
	}
	for _, path := range files(t, vfs.Default, safe) {
		to := data + path[len(safe):]
		a, errA := os.Stat(path)
		b, errB := os.Stat(to)
		if errA == nil && errB == nil && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) {
			kept++
			continue
		}
		run(t, "cp", "-a", path, to+".tmp")
		run(t, "mv", to+".tmp", to)
	}
	s = disk(data).open(t)
	defer s.Close()
	if s.Identity().Epoch == was.Epoch || s.NewEpochReason() != "the head note is a copy" || kept == 0 {
		t.Fatalf("epoch %s (%s), was %s; %d files kept", s.Identity().Epoch, s.NewEpochReason(), was.Epoch, kept)
	}
}

// TestEpochStays: what isn't another history keeps its epoch.
func TestEpochStays(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	was := life(t, data, "1", "2")
	check := func(how string) {
		t.Helper()
		if id := life(t, data); id != was {
			t.Fatalf("%s: %+v, was %+v", how, id, was)
		}
	}
	check("a restart")
	run(t, "mv", data, data+".away")
	run(t, "mv", data+".away", data)
	check("renamed away and back")
	if err := os.WriteFile(filepath.Join(data, "dev.key"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("another file in the folder")
	for name := range map[string]bool{"mark-stray": true, "head-stray": true} { // as a crash while opening leaves them
		if err := os.WriteFile(filepath.Join(data, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check("a mark that never counted")
	if _, err := os.Stat(filepath.Join(data, "mark-stray")); !os.IsNotExist(err) {
		t.Fatalf("the stray mark wasn't cleared away: %v", err)
	}
	run(t, "cp", "-a", data, data+".copy")
	if other := life(t, data+".copy", "3"); other.Epoch == was.Epoch || other.Server != was.Server {
		t.Fatalf("the copy goes on as %+v", other)
	}
	check("the original, after a copy went on")
}

// TestWentBack: a store behind its head note, the note being the folder's own.
func TestWentBack(t *testing.T) {
	fs := vfs.NewMem()
	at := spot{dir: "/data", opts: Options{FS: fs, CacheBytes: 1 << 20, NoteEvery: -1}}
	s := at.open(t)
	send(t, s, "1")
	closed(t, s)
	old := vfs.NewMem()
	if _, err := vfs.Clone(fs, old, "/data/db", "/db"); err != nil {
		t.Fatal(err)
	}
	s = at.open(t)
	send(t, s, "2")
	send(t, s, "3")
	was := closed(t, s)
	// An older log under the newer note, which a tail that the disk lost would be too.
	self, c := peek(t, at)
	c.commits -= 2
	reason, err := folder{fs, "/data"}.moved(self, c, ptr(at.opts.withDefaults()))
	if err != nil || reason == "" {
		t.Fatalf("reason %q, %v", reason, err)
	}
	if err := fs.RemoveAll("/data/db"); err != nil {
		t.Fatal(err)
	}
	if _, err := vfs.Clone(old, fs, "/db", "/data/db"); err != nil {
		t.Fatal(err)
	}
	s = at.open(t)
	defer s.Close()
	if id := s.Identity(); id.Epoch == was.Epoch || id.Server != was.Server {
		t.Fatalf("identity %+v, was %+v", id, was)
	}
	if out := send(t, s, "1", "2"); out[0].Kind != room.Duplicate || out[1].Result.Seq != 2 {
		t.Fatalf("%+v", out)
	}
}

func ptr[T any](v T) *T { return &v }

// peek opens a store and returns what it says of itself.
func peek(t *testing.T, at spot) (*self, counts) {
	t.Helper()
	s := at.open(t)
	defer s.Close()
	return s.self, *s.sums.Load()
}

func TestFileIdentity(t *testing.T) {
	a := fileIdentity{Inode: 7, Sec: 5, Nsec: 9}
	for _, c := range []struct {
		b    fileIdentity
		want bool
	}{
		{a, true}, {fileIdentity{7, 5, 0}, true}, {fileIdentity{7, 5, 8}, false}, {fileIdentity{7, 6, 9}, false}, {fileIdentity{8, 5, 9}, false},
	} {
		if a.same(c.b) != c.want || c.b.same(a) != c.want {
			t.Errorf("%+v and %+v: want %v", a, c.b, c.want)
		}
	}
}

// TestNoteTorn: a write of the note that a power cut tore costs the last turn, not the note.
func TestNoteTorn(t *testing.T) {
	fs := vfs.NewMem()
	f := folder{fs, "/"}
	file := note{turn: 4, epoch: "E", commits: 10}.slots()
	copy(file[offSlot:], note{turn: 5, epoch: "E", commits: 11, manifest: manifestMark{"MANIFEST-000001", 77}}.line())
	for _, c := range []struct {
		name   string
		tear   func([]byte)
		commit uint64
		ok     bool
	}{
		{"whole", func([]byte) {}, 11, true},
		{"newer torn", func(b []byte) { clear(b[offSlot+20 : offSlot+90]) }, 10, true},
		{"older torn", func(b []byte) { clear(b[20:90]) }, 11, true},
		{"both torn", func(b []byte) { clear(b[20:90]); b[offSlot+30] ^= 1 }, 0, false},
	} {
		torn := append([]byte(nil), file...)
		c.tear(torn)
		if err := f.write("head-x", torn); err != nil {
			t.Fatal(err)
		}
		n, ok, err := f.readNote("head-x")
		if err != nil || ok != c.ok || n.commits != c.commit {
			t.Errorf("%s: %+v %v %v", c.name, n, ok, err)
		}
	}
}
