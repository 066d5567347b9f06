//go:build unix

package pebble

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// modes are those of a folder and of all in it.
func modes(t *testing.T, dir string) (folders, files map[os.FileMode]string) {
	t.Helper()
	folders, files = map[os.FileMode]string{}, map[os.FileMode]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			folders[info.Mode().Perm()] = path
		} else {
			files[info.Mode().Perm()] = path
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders, files
}

func onlyMode(t *testing.T, dir string, folder os.FileMode) {
	t.Helper()
	folders, files := modes(t, dir)
	if len(folders) != 1 || folders[folder] == "" || len(files) != 1 || files[folder&^0o111] == "" {
		t.Errorf("%s: folders %v, files %v, want %v", dir, folders, files, folder)
	}
}

// TestWhatAStoreMakesIsItsUsersAlone whatever the umask is: the store, its lock, tables and logs, backups and what is restored. A mode that
// somebody asks for is kept to, and a folder that is there keeps its own.
func TestWhatAStoreMakesIsItsUsersAlone(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o277} {
		was := syscall.Umask(umask)
		func() {
			defer syscall.Umask(was)
			syscall.Umask(was)
			base := t.TempDir()
			data := filepath.Join(base, "data")
			syscall.Umask(umask)
			s := disk(data).open(t)
			send(t, s, "1", "2")
			if err := s.db.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := s.Checkpoint(t.Context(), filepath.Join(base, "private"), 0); err != nil {
				t.Fatal(err)
			}
			if err := s.Checkpoint(t.Context(), filepath.Join(base, "shared"), 0o750); err != nil {
				t.Fatal(err)
			}
			closed(t, s)
			closed(t, disk(data).open(t))
			o := disk(data).opts
			if err := Restore(t.Context(), filepath.Join(base, "shared"), filepath.Join(base, "restored"), o); err != nil {
				t.Fatal(err)
			}
			o.Mode = 0o750
			if err := Backup(t.Context(), data, filepath.Join(base, "copied"), o); err != nil {
				t.Fatal(err)
			}
			onlyMode(t, data, 0o700)
			onlyMode(t, filepath.Join(base, "private"), 0o700)
			onlyMode(t, filepath.Join(base, "shared"), 0o750)
			onlyMode(t, filepath.Join(base, "restored"), 0o700)
			onlyMode(t, filepath.Join(base, "copied"), 0o750)
		}()
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o755)); err != nil {
		t.Fatal(err)
	}
	closed(t, disk(open).open(t))
	if info, err := os.Stat(open); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the mode of a folder that was there was changed: %v %v", info.Mode(), err)
	}
}
