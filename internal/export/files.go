package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNotEmpty says that an export was to go into a folder in which there is something.
var ErrNotEmpty = errors.New("export: the folder isn't empty")

// place fills a folder beside out by f, syncs it, and renames it to out.
func place(out string, mode os.FileMode, f func(dir string) error) (err error) {
	out = filepath.Clean(out)
	entries, err := os.ReadDir(out)
	switch {
	case err == nil && len(entries) > 0:
		return fmt.Errorf("%w: %s", ErrNotEmpty, out)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	there := err == nil
	dir, err := os.MkdirTemp(filepath.Dir(out), "."+filepath.Base(out)+".export-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	if err := errors.Join(os.Chmod(dir, mode), f(dir)); err != nil {
		return err
	}
	if there { // empty: it fails where somebody wrote into it meanwhile
		if err := os.Remove(out); err != nil {
			return err
		}
	}
	if err := os.Rename(dir, out); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(out))
}

// maxUnwritten bounds what is gathered of all files before it goes to the disk, and maxOfFile of one of them.
const (
	maxUnwritten = 16 << 20
	maxOfFile    = 256 << 10
)

// files appends to many files by turns: there may be a folder for each of 17,576 currencies, and far fewer file descriptors.
type files struct {
	dir       string
	mode      os.FileMode // of folders
	unwritten map[string][]byte
	size      int
	all       map[string]bool
}

func newFiles(dir string, mode os.FileMode) *files {
	return &files{dir: dir, mode: mode, unwritten: map[string][]byte{}, all: map[string]bool{}}
}

// write appends to a file, made where it isn't there yet.
func (f *files) write(name string, text []byte) error {
	if !f.all[name] {
		f.all[name] = true
		if err := f.create(name); err != nil {
			return err
		}
	}
	f.unwritten[name] = append(f.unwritten[name], text...)
	if f.size += len(text); f.size > maxUnwritten {
		return f.flush()
	}
	if text = f.unwritten[name]; len(text) > maxOfFile {
		f.size -= len(text)
		f.unwritten[name] = text[:0]
		return f.append(name, text)
	}
	return nil
}

// create makes a file and its folder, whatever the process's umask is.
func (f *files) create(name string) error {
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), f.mode); err != nil {
		return err
	}
	if err := f.append(name, nil); err != nil {
		return err
	}
	return errors.Join(os.Chmod(filepath.Dir(path), f.mode), os.Chmod(path, f.mode&^0o111))
}

func (f *files) append(name string, text []byte) error {
	file, err := os.OpenFile(filepath.Join(f.dir, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

func (f *files) flush() error {
	for name, text := range f.unwritten {
		if len(text) == 0 {
			continue
		}
		if err := f.append(name, text); err != nil {
			return err
		}
	}
	clear(f.unwritten)
	f.size = 0
	return nil
}

// copy makes a file of what was written to another so far.
func (f *files) copy(from, to string) error {
	if err := errors.Join(f.write(from, nil), f.flush()); err != nil {
		return err
	}
	src, err := os.Open(filepath.Join(f.dir, from))
	if err != nil {
		return err
	}
	defer src.Close()
	if err := f.write(to, nil); err != nil {
		return err
	}
	dst, err := os.OpenFile(filepath.Join(f.dir, to), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

func (f *files) remove(name string) error {
	if !f.all[name] {
		return nil
	}
	delete(f.all, name)
	delete(f.unwritten, name)
	return os.Remove(filepath.Join(f.dir, name))
}

// finish writes the rest and syncs all files and folders.
func (f *files) finish() error {
	if err := f.flush(); err != nil {
		return err
	}
	folders := map[string]bool{f.dir: true}
	for name := range f.all {
		path := filepath.Join(f.dir, name)
		folders[filepath.Dir(path)] = true
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		if err := errors.Join(file.Sync(), file.Close()); err != nil {
			return err
		}
	}
	for dir := range folders {
		if err := syncFolder(dir); err != nil {
			return err
		}
	}
	return nil
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
