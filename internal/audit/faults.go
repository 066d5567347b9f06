package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ContractError says why policy.tsv can't be obeyed: exit status 3 (docs/spec/contract.md, section 1, fail closed).
type ContractError struct{ Reason string }

func (e *ContractError) Error() string { return "contract: " + e.Reason }

// UnreadableError names the input or report that can't be read: exit status 2.
type UnreadableError struct {
	File   string // base name, as the issue names it
	Reason string // for people; not part of the issue
}

func (e *UnreadableError) Error() string { return e.File + ": " + e.Reason }

// openFile opens a regular input. A file that isn't there, isn't ours to read or isn't a file is unreadable; any
// other failure is the machine's, so that a sick disk is never taken for a missing fact.
func openFile(path, name string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(name, err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = syscall.EISDIR
	}
	if err == nil && info.Mode().IsRegular() { // of a pipe the reader finds it
		start := make([]byte, 2)
		if n, _ := f.ReadAt(start, 0); inUTF16(start[:n]) {
			err = errUTF16
		}
	}
	if err != nil {
		f.Close()
		return nil, fileError(name, err)
	}
	return f, nil
}

// fileError sorts a failure into what the file is to blame for and what the machine is.
func fileError(name string, err error) error {
	for _, absent := range []error{
		fs.ErrNotExist, fs.ErrPermission, syscall.EISDIR, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG, errUTF16,
	} {
		if errors.Is(err, absent) {
			var at *fs.PathError
			if errors.As(err, &at) {
				err = at.Err // the name is enough, and the same wherever the folder lies
			}
			return &UnreadableError{File: name, Reason: err.Error()}
		}
	}
	return fmt.Errorf("reading %s: %w", name, err)
}
