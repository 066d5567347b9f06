package pebble

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hapax/internal/store"
)

// TestManifestCut cuts the manifest at every byte of its tail. Pebble alone would take that for a crash, and open without some tables.
func TestManifestCut(t *testing.T) {
	base, _, _ := fullFolder(t)
	path := ""
	for _, p := range files(t, base, "/data/db") {
		if strings.HasPrefix(base.PathBase(p), "MANIFEST-") {
			path = max(path, p)
		}
	}
	whole := content(t, base, path)
	for cut := 1; cut <= min(100, len(whole)); cut++ {
		fs := vfs.NewMem()
		if _, err := vfs.Clone(base, fs, "/data", "/data"); err != nil {
			t.Fatal(err)
		}
		spoil(t, fs, path, whole[:len(whole)-cut])
		o := small()
		o.FS = fs
		if _, err := Open("/data", o); !errors.Is(err, store.ErrDamage) || !strings.Contains(err.Error(), path) {
			t.Fatalf("%d bytes cut: %v", cut, err)
		}
		if _, err := Verify(t.Context(), "/data", o); !errors.Is(err, store.ErrDamage) {
			t.Fatalf("%d bytes cut: verify: %v", cut, err)
		}
	}
}

// TestManifestBeforeItsPointer: whenever the file that points to a manifest is made, the manifest's own entry is on disk already.
func TestManifestBeforeItsPointer(t *testing.T) {
	fs := vfs.NewCrashableMem()
	pointers := 0
	o := small()
	o.FS = errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		_, name, found := strings.Cut(op.Path, "/marker.manifest.")
		if !found || op.Kind != errorfs.OpCreate {
			return nil
		}
		pointers++
		_, name, _ = strings.Cut(name, ".")
		if _, err := fs.CrashClone(vfs.CrashCloneCfg{}).Stat("/data/db/" + name); err != nil {
			t.Errorf("a power cut here may leave the pointer without %s: %v", name, err)
		}
		return nil
	}))
	for range 3 {
		s, err := Open("/data", o)
		if err != nil {
			t.Fatal(err)
		}
		send(t, s, "1")
		if err := s.db.Flush(); err != nil {
			t.Fatal(err)
		}
		closed(t, s)
	}
	if pointers < 3 {
		t.Fatalf("only %d manifests were made", pointers)
	}
}
