package settlement

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"hapax/internal/settle"
)

// inputs is a folder whose small files are read and whose events are open.
type inputs struct {
	policy   settle.Policy
	registry *registry
	opening  []opening
	events   *os.File
	size     int64 // of events.tsv in bytes, 0 where it isn't known
}

// openInputs reads policy.tsv, dedupe.tsv and opening.tsv and opens events.tsv. Of several unreadable ones it names
// the first in the order dedupe.tsv, events.tsv, opening.tsv.
func openInputs(dir string, skipped func(line int64, why string)) (*inputs, error) {
	policy, err := readPolicy(filepath.Join(dir, PolicyFile))
	if err != nil {
		return nil, err
	}
	in := &inputs{policy: policy, registry: newRegistry()}
	if err := in.readDedupe(filepath.Join(dir, DedupeFile), skipped); err != nil {
		return nil, inputFault(DedupeFile, err)
	}
	if err := in.openEvents(filepath.Join(dir, EventsFile)); err != nil {
		return nil, inputFault(EventsFile, err)
	}
	if err := in.readOpening(filepath.Join(dir, OpeningFile)); err != nil {
		in.events.Close()
		return nil, inputFault(OpeningFile, err)
	}
	in.registry.loaded()
	return in, nil
}

func (in *inputs) readDedupe(path string, skipped func(line int64, why string)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return in.registry.load(file, func(line int64, why reason) { skipped(line, why.String()) })
}

func (in *inputs) openEvents(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = syscall.EISDIR
	}
	if err == nil && info.Mode().IsRegular() { // already here, as opening.tsv is read before the events are
		var head [2]byte
		if n, _ := file.ReadAt(head[:], 0); isUTF16(head[:n]) {
			err = errUTF16
		}
	}
	if err != nil {
		file.Close()
		return err
	}
	in.events, in.size = file, info.Size()
	return nil
}

func (in *inputs) readOpening(path string) error {
	// Lstat, as a link that leads nowhere is there and unreadable: passing over it would lose the predecessors.
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in.opening, err = readOpening(file, in.registry.keys)
	return err
}

// inputFault sorts what went wrong with a fact: a file that isn't there, isn't ours to read or is no file is
// unreadable; any other failure of reading is the machine's (docs/adr/0008-a-failing-disk-is-the-machine.md).
func inputFault(file string, err error) error {
	var fault *Fault
	switch {
	case errors.As(err, &fault):
		return err
	case blamesFile(err):
		return unreadable(file, rootCause(err))
	}
	return fmt.Errorf("reading %s: %w", file, rootCause(err))
}

func blamesFile(err error) bool {
	for _, cause := range []error{
		fs.ErrNotExist, fs.ErrPermission, syscall.EISDIR, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG, errUTF16,
	} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// rootCause leaves out the path that the system's errors repeat.
func rootCause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func lineError(number int64, what string) error { return fmt.Errorf("line %d: %s", number, what) }
