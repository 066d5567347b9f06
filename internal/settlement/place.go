package settlement

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// stale is added to the name of an earlier output while a run works, so that no killed or failed run leaves
// yesterday's figures as today's.
const stale = ".stale"

// CheckOutput refuses a path for an output that exists and is no regular file: a device, a pipe, a socket, a folder, a link to one of
// them or to nothing. Moved aside or written over, it would be gone for everybody. Nothing is opened.
func CheckOutput(path string) error {
	if _, err := os.Lstat(path); missing(err) {
		return nil
	} else if err != nil {
		return err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is a link that leads nowhere", path)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder; the name of a file is needed", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file (%s) and is left as it is; name a file", path, info.Mode().Type())
	}
	return nil
}

// setAside renames the outputs of an earlier run and syncs their folders. An older stale file is replaced.
func setAside(paths ...string) error {
	folders := map[string]bool{}
	for _, path := range paths {
		err := os.Rename(path, path+stale)
		if missing(err) {
			continue
		}
		if err != nil {
			return err
		}
		folders[filepath.Dir(path)] = true
	}
	for folder := range folders {
		if err := syncFolder(folder); err != nil {
			return err
		}
	}
	return nil
}

// missing reports whether a path has no file; a folder on its way that is missing or is a file counts too.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}

// output is a file that appears whole or not at all: written beside its place under another name, synced, renamed.
type output struct {
	*bufio.Writer
	path   string
	file   *os.File
	placed bool
}

// outputMode is what other programs' files have; the umask takes its part.
const outputMode = 0o666

func createOutput(path string) (*output, error) {
	for attempt := range 1000 {
		beside := fmt.Sprintf("%s.%d-%d.part", path, os.Getpid(), attempt)
		file, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, outputMode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &output{Writer: bufio.NewWriterSize(file, scratchBuffer), path: path, file: file}, nil
	}
	return nil, fmt.Errorf("%s: a thousand unfinished files lie beside it", path)
}

// complete puts all that was written on the disk, still beside its place.
func (o *output) complete() error {
	if err := o.Flush(); err != nil {
		return err
	}
	return o.file.Sync()
}

// appear puts a complete file in its place; after an error it hasn't appeared.
func (o *output) appear() error {
	if err := o.file.Close(); err != nil {
		return err
	}
	if err := os.Rename(o.file.Name(), o.path); err != nil {
		return err
	}
	o.placed = true
	if err := syncFolder(filepath.Dir(o.path)); err != nil {
		os.Remove(o.path) // a run that fails has no report
		return err
	}
	return nil
}

// discard removes what was written if it isn't placed.
func (o *output) discard() {
	if !o.placed {
		o.file.Close() // a second time after a failed rename, which changes nothing
		os.Remove(o.file.Name())
	}
}
