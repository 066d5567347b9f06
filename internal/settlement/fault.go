package settlement

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Kind is what went wrong, in the terms of contract.md, Exit statuses.
type Kind int

// The kinds of faults and their exit statuses.
const (
	Machine    Kind = 70 // a panic, a full disk, a report that can't be written
	Usage      Kind = 64 // paths that can't be meant; nothing was read or moved
	Contract   Kind = 3  // policy.tsv
	Unreadable Kind = 2  // dedupe.tsv, events.tsv or opening.tsv
)

// Fault is why a run has no report.
type Fault struct {
	Kind Kind
	File string // base name, of an unreadable fact
	Err  error
}

func (f *Fault) Error() string {
	switch f.Kind {
	case Contract:
		return "contract: " + f.Err.Error()
	case Unreadable:
		return "unreadable: " + f.File + ": " + f.Err.Error()
	}
	return f.Err.Error()
}

func (f *Fault) Unwrap() error { return f.Err }

// Status is the exit status of a run that ended with err: the one of its Fault, else 70, as whatever isn't foreseen
// is the machine's.
func Status(err error) int {
	var fault *Fault
	if errors.As(err, &fault) {
		return int(fault.Kind)
	}
	return int(Machine)
}

func contractFault(format string, args ...any) error {
	return &Fault{Kind: Contract, Err: fmt.Errorf(format, args...)}
}

func unreadable(file string, err error) error {
	return &Fault{Kind: Unreadable, File: file, Err: err}
}

func usageFault(format string, args ...any) error {
	return &Fault{Kind: Usage, Err: fmt.Errorf(format, args...)}
}

// guard runs step and turns a panic into an error. Every goroutine of a run is started through it: the Go runtime
// ends a process that panics with status 2, which here would mean "report written, something rejected".
func guard(step func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return step()
}
