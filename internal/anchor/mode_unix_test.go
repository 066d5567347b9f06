//go:build unix

package anchor

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAnAnchorIsItsOwnersAlone: it is made for its owner only, and what is there keeps the mode that somebody gave it.
func TestAnAnchorIsItsOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "anchor")
	for n, want := range []os.FileMode{0o600, 0o600, 0o640, 0o640} {
		if n == 2 {
			if err := os.Chmod(path, 0o640); err != nil {
				t.Fatal(err)
			}
		}
		if err := Append(path, head(int64(n))); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("line %d: %v, %v, want %v", n+1, info.Mode(), err, want)
		}
	}
}
