package pebble

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/storetest"
)

// picture is every file of a folder with its bytes.
func picture(t *testing.T, fs vfs.FS, dir string) string {
	t.Helper()
	var b strings.Builder
	for _, p := range files(t, fs, dir) {
		fmt.Fprintf(&b, "%s %x\n", p, content(t, fs, p))
	}
	return b.String()
}

// TestNewerChangesNothing: a store of a later version is refused, by the file and by the row, and left as it is.
func TestNewerChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	life(t, dir, "1")
	if err := os.WriteFile(filepath.Join(dir, fileFormat), formatLine(format+1), 0o644); err != nil {
		t.Fatal(err)
	}
	before := picture(t, vfs.Default, dir)
	_, err := Open(dir, disk(dir).opts)
	if !errors.Is(err, store.ErrNewer) {
		t.Fatalf("%v, want ErrNewer", err)
	}
	if _, err := Verify(t.Context(), dir, disk(dir).opts); !errors.Is(err, store.ErrNewer) {
		t.Fatalf("verify: %v, want ErrNewer", err)
	}
	if picture(t, vfs.Default, dir) != before {
		t.Fatal("the folder was changed")
	}
	for _, row := range []string{
		`{"format":3,"server":"s","epochs":["e"]}`,
		`{"format":4,"server":"s","epochs":["e"],"life":"x","more":true}`,
	} {
		if _, err := readSelf([]byte(row)); !errors.Is(err, store.ErrNewer) {
			t.Errorf("%s: %v, want ErrNewer", row, err)
		}
	}
	for _, row := range []string{``, `{}`, `{"format":1,"server":"s"}`, `{"format":1,"server":"","epochs":["e"]}`, `{"format":1,"server":"s","epochs":[""]}`} {
		if _, err := readSelf([]byte(row)); !errors.Is(err, store.ErrDamage) {
			t.Errorf("%s: %v, want ErrDamage", row, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(dir string) error
		want  error
	}{
		{"a format that isn't ours", func(dir string) error { return os.WriteFile(dir+"/format", []byte("something else\n"), 0o644) }, store.ErrDamage},
		{"a format cut short", func(dir string) error { return os.WriteFile(dir+"/format", []byte("hapax-store 1"), 0o644) }, store.ErrDamage},
		{"no database", func(dir string) error { return os.RemoveAll(dir + "/db") }, store.ErrDamage},
		{"an empty database", func(dir string) error { return errors.Join(os.RemoveAll(dir+"/db"), os.Mkdir(dir+"/db", 0o755)) }, store.ErrDamage},
		{"a restore cut off", func(dir string) error { return os.WriteFile(dir+"/incomplete", nil, 0o644) }, store.ErrDamage},
		{"a file in place of the database", func(dir string) error {
			return errors.Join(os.RemoveAll(dir+"/db"), os.WriteFile(dir+"/db", nil, 0o644))
		}, syscall.ENOTDIR},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			life(t, dir, "1")
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir, disk(dir).opts)
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if !strings.Contains(err.Error(), dir) {
				t.Fatalf("%q doesn't name the folder", err)
			}
		})
	}
}

// TestLocked: the lock is the system's, held by the process, free after Close, and another's is told as such.
func TestLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := disk(dir).open(t)
	for name, err := range map[string]error{
		"open":    func() error { _, err := Open(dir, disk(dir).opts); return err }(),
		"verify":  func() error { _, err := Verify(t.Context(), dir, disk(dir).opts); return err }(),
		"backup":  Backup(t.Context(), dir, dir+".b", disk(dir).opts),
		"restore": Restore(t.Context(), dir, dir+".r", disk(dir).opts),
	} {
		if !errors.Is(err, store.ErrLocked) {
			t.Errorf("%s: %v, want ErrLocked", name, err)
		}
	}
	closed(t, s)
	closed(t, disk(dir).open(t))
}

// TestReadOnlyFolder and a full disk: the system's own words, and which file.
func TestReadOnlyFolder(t *testing.T) {
	for _, cause := range []error{syscall.EROFS, syscall.EACCES, syscall.ENOSPC} {
		mem := vfs.NewMem()
		at := spot{dir: "/data", opts: Options{FS: mem, CacheBytes: 1 << 20}}
		closed(t, at.open(t))
		at.opts.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
				return &os.PathError{Op: "write", Path: op.Path, Err: cause}
			}
			return nil
		}))
		_, err := Open("/data", at.opts)
		if !errors.Is(err, cause) || errors.Is(err, store.ErrDamage) || errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), "/data") {
			t.Errorf("%v: %v", cause, err)
		}
		if rep, err := Verify(t.Context(), "/data", at.opts); cause == syscall.EROFS && (err != nil || !rep.OK()) {
			t.Errorf("%v: reading alone: %+v, %v", cause, rep, err)
		}
		at.opts.FS = mem
		closed(t, at.open(t)) // none the worse
	}
}

// TestMakingCutOff cuts the power at every change of the disk while a store is made. What is left opens, as a new store or as the one that was made.
func TestMakingCutOff(t *testing.T) {
	for n := 1; ; n++ {
		fs := vfs.NewCrashableMem()
		var mu sync.Mutex // the database and the noter change the disk side by side
		var left *vfs.MemFS
		i := 0
		o := small()
		o.FS = errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				mu.Lock()
				defer mu.Unlock()
				if i++; i == n {
					left = fs.CrashClone(vfs.CrashCloneCfg{})
				}
			}
			return nil
		}))
		s, err := Open("/data", o)
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		made := left == nil
		mu.Unlock()
		send(t, s, "1")
		closed(t, s)
		if made {
			if n < 20 {
				t.Fatalf("only %d changes", n)
			}
			return
		}
		o.FS = left
		s, err = Open("/data", o)
		if err != nil {
			t.Fatalf("cut before change %d: %v", n, err)
		}
		send(t, s, "1")
		closed(t, s)
	}
}

// TestJudgePanics and a judge that accepts what is known: nothing is stored, and the store says that it must be opened anew.
func TestJudgeFaults(t *testing.T) {
	at := spot{dir: "/data", opts: Options{FS: vfs.NewMem(), CacheBytes: 1 << 20}}
	s := at.open(t)
	send(t, s, "1")
	accept := func(room.Facts, *room.Command) room.Outcome { return room.Outcome{Kind: room.Accepted} }
	_, err := s.Commit(t.Context(), &store.Batch{Judge: accept, Commands: []room.Command{storetest.Send("r", "ann", "2", "2"), storetest.Send("r", "ann", "1", "1")}})
	if !errors.Is(err, store.ErrBroken) {
		t.Fatalf("%v, want ErrBroken", err)
	}
	closed(t, s)
	s = at.open(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the judge's panic was swallowed")
			}
		}()
		_, _ = s.Commit(t.Context(), &store.Batch{Judge: func(room.Facts, *room.Command) room.Outcome { panic("judge") }, Commands: []room.Command{storetest.Send("r", "ann", "2", "2")}})
	}()
	if _, err := s.Stats(t.Context()); !errors.Is(err, store.ErrBroken) {
		t.Fatalf("%v, want ErrBroken", err)
	}
	closed(t, s)
	s = at.open(t)
	defer s.Close()
	if out := send(t, s, "1", "2"); out[0].Kind != room.Duplicate || out[1].Kind != room.Accepted || out[1].Result.Seq != 2 {
		t.Fatalf("%+v", out)
	}
}

// TestFatalDoesNotExit: where Pebble would end the process, the store is broken and says why.
func TestFatalDoesNotExit(t *testing.T) {
	at := spot{dir: "/data", opts: Options{FS: vfs.NewMem(), CacheBytes: 1 << 20}}
	s := at.open(t)
	(&dbLog{log: at.opts.withDefaults().Logger, guard: s.guard}).Fatalf("it %s", "broke")
	_, err := s.Commit(t.Context(), &store.Batch{Judge: room.Decide, Commands: []room.Command{storetest.Send("r", "ann", "1", "1")}})
	if !errors.Is(err, store.ErrBroken) || !strings.Contains(err.Error(), "it broke") {
		t.Fatalf("%v, want ErrBroken and the reason", err)
	}
	closed(t, s)
	s = at.open(t)
	defer s.Close()
	send(t, s, "1")
}
