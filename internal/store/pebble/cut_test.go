package pebble

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hapax/internal/store"
)

// fullFolder makes a folder with tables on several levels, a log that isn't in a table yet, skeletons and dropped results.
func fullFolder(t *testing.T) (*vfs.MemFS, *acked, store.Identity) {
	t.Helper()
	fs, told := vfs.NewMem(), newAcked()
	o := small()
	o.FS = fs
	s, err := Open("/data", o)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 40 {
		b := crashBatch(rand.New(rand.NewPCG(1, uint64(n))), 0, n)
		out, err := s.Commit(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		if err := told.note(b.Commands, out); err != nil {
			t.Fatal(err)
		}
		if n%8 == 0 {
			if _, err := s.Purge(t.Context(), store.Policy{JournalRows: 30}, 1); err != nil {
				t.Fatal(err)
			}
			if err := s.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	id := s.Identity()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return fs, told, id
}

// files lists all files below a folder, by path.
func files(t *testing.T, fs vfs.FS, dir string) (paths []string) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		path := fs.PathJoin(dir, n)
		info, err := fs.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			paths = append(paths, files(t, fs, path)...)
		} else {
			paths = append(paths, path)
		}
	}
	return paths
}

func content(t *testing.T, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// harm is a way to spoil a file. It returns nil where the file is to be missing.
type harm struct {
	name string
	do   func(rng *rand.Rand, b []byte) []byte
}

var harms = []harm{
	{"cut", func(rng *rand.Rand, b []byte) []byte { return b[:rng.IntN(len(b))] }},
	{"cut to nothing", func(_ *rand.Rand, b []byte) []byte { return b[:0] }},
	{"flip", func(rng *rand.Rand, b []byte) []byte { b[rng.IntN(len(b))] ^= 1 << rng.IntN(8); return b }},
	{"zero", func(rng *rand.Rand, b []byte) []byte { clear(b[rng.IntN(len(b)):]); return b }},
	{"missing", func(*rand.Rand, []byte) []byte { return nil }},
}

// TestSpoiledFiles cuts, changes and removes every file of a closed store at random bytes. The store opens with all that was
// acknowledged, or opens as another epoch with whole commits only, or refuses; and it never shows a room with a hole.
func TestSpoiledFiles(t *testing.T) {
	base, told, was := fullFolder(t)
	rng := rand.New(rand.NewPCG(3, 4))
	opened, refused, anew := 0, 0, 0
	for _, path := range files(t, base, "/data") {
		size := len(content(t, base, path))
		for _, h := range harms {
			tries := 1
			if strings.Contains("cut flip zero", h.name) {
				tries = min(10/min(10, int(stride())), size)
			}
			for range tries {
				fs := vfs.NewMem()
				if _, err := vfs.Clone(base, fs, "/data", "/data"); err != nil {
					t.Fatal(err)
				}
				spoil(t, fs, path, h.do(rng, content(t, base, path)))
				what := fmt.Sprintf("%s: %s", path, h.name)
				switch id, ok := openSpoiled(t, what, fs, told, was); {
				case !ok:
					refused++
				case id.Epoch != was.Epoch:
					anew++
				default:
					opened++
				}
			}
		}
	}
	t.Logf("opened as it was %d, as a new epoch %d, refused %d", opened, anew, refused)
	least := 20 / min(4, int(stride())) // a short run tries less
	if opened < least || refused < least || anew < 2 {
		t.Fatal("some answer hardly ever came: the harm is too uniform")
	}
}

func spoil(t *testing.T, fs vfs.FS, path string, b []byte) {
	t.Helper()
	if err := fs.Remove(path); err != nil {
		t.Fatal(err)
	}
	if b == nil {
		return
	}
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// openSpoiled opens a spoiled store and reads it whole. ok is false where it refused, or a reading said that it is damaged.
func openSpoiled(t *testing.T, what string, fs vfs.FS, told *acked, was store.Identity) (id store.Identity, ok bool) {
	t.Helper()
	refusal := func(err error) bool {
		if !errors.Is(err, store.ErrDamage) && !errors.Is(err, store.ErrNewer) {
			t.Fatalf("%s: neither served nor called damaged: %v", what, err)
		}
		return false
	}
	o := small()
	o.FS = fs
	s, err := Open("/data", o)
	if err != nil {
		return id, refusal(err)
	}
	defer s.Close()
	id = s.Identity()
	lost := 0
	err = s.View(t.Context(), func(v store.View) error {
		for _, name := range crashRooms {
			rows, more, err := v.After(name, 0, 1<<20, 1<<30) // it names a hole itself
			if err != nil {
				return err
			}
			st, err := v.Room(name)
			if err != nil {
				return err
			}
			if int64(len(rows)) != st.Head-st.Low || more {
				t.Fatalf("%s: room %q has %d rows between %d and %d", what, name, len(rows), st.Low, st.Head)
			}
		}
		for key, want := range told.results {
			got, known, err := v.Result(key)
			if err != nil {
				return err
			}
			if !known || got != want {
				lost++
			}
		}
		return nil
	})
	if err != nil {
		return id, refusal(err)
	}
	if lost > 0 && id.Epoch == was.Epoch {
		t.Fatalf("%s: %d acknowledged rows lost without a new epoch", what, lost)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("%s: close: %v", what, err)
	}
	rep, err := Verify(t.Context(), "/data", o)
	if err != nil {
		return id, refusal(err)
	}
	if !rep.OK() {
		t.Fatalf("%s: opened, but %+v", what, rep)
	}
	return id, true
}
