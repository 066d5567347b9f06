package pebble

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// DefaultMode is that of the folders that a store makes: what is in them is for its own user. Files have the same without the bits for running.
const DefaultMode os.FileMode = 0o700

// private is the machine's file system, where what is made has a mode of its own, whatever the process's umask is. What is there keeps its mode.
type private struct {
	vfs.FS
	folders os.FileMode
}

func onDisk(mode os.FileMode) vfs.FS {
	if mode == 0 {
		mode = DefaultMode
	}
	return private{FS: vfs.Default, folders: mode}
}

func (p private) files() os.FileMode { return p.folders &^ 0o111 }

// Unwrap lets Pebble find the file system below.
func (p private) Unwrap() vfs.FS { return p.FS }

func (p private) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := p.FS.Create(name, c)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(name, p.files()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (p private) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	there := exists(name)
	f, err := p.FS.OpenReadWrite(name, c, o...)
	if err != nil || there {
		return f, err
	}
	if err := os.Chmod(name, p.files()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (p private) Lock(name string) (io.Closer, error) {
	there := exists(name)
	l, err := p.FS.Lock(name)
	if err != nil || there {
		return l, err
	}
	if err := os.Chmod(name, p.files()); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// MkdirAll makes folders of the mode; those above the last one are the machine's.
func (p private) MkdirAll(dir string, _ os.FileMode) error {
	if exists(dir) {
		return p.FS.MkdirAll(dir, p.folders) // which says what is wrong with a file in its place
	}
	if err := p.FS.MkdirAll(dir, p.folders); err != nil {
		return err
	}
	return os.Chmod(dir, p.folders)
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}
