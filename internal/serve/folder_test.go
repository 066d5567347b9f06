package serve

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hapax/internal/config"
)

func TestAnOpenFolderIsToldAndLeftAsItIs(t *testing.T) {
	for mode, told := range map[os.FileMode]bool{0o700: false, 0o750: true, 0o755: true} {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		c := config.Default()
		c.Data = dir
		st, err := OpenStore(c, slog.New(slog.NewTextHandler(&out, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		if is := strings.Contains(out.String(), "chmod -R go-rwx "+dir) && strings.Contains(out.String(), "new epoch"); is != told {
			t.Errorf("mode %v: %s", mode, out.String())
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != mode {
			t.Errorf("the mode %v was changed to %v", mode, info.Mode())
		}
	}
}
