package settlement

import (
	"bufio"
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"hapax/internal/settle"
)

// Options of a run.
type Options struct {
	Paths
	// Memory in bytes that the run tries to keep within; events beyond it are sorted outside. 0: DefaultMemory. Names
	// and registrations of keys are always held.
	Memory int64
	// Workers is how many chunks are parsed and lanes judged at a time. 0: one for each processor.
	Workers int
	// Skipped is told every row of dedupe.tsv that breaks a rule. nil: nobody is.
	Skipped func(line int64, why string)
	// Progress is told how many bytes of events.tsv have been read, of how many. nil: nobody is.
	Progress func(done, total int64)
}

// DefaultMemory is enough for 20 million events in memory.
const DefaultMemory = 512 << 20

// MinMemory is the least that a run works with: chunks being parsed and a lane a worker.
const MinMemory = 16 << 20

// Result of a run that wrote a report.
type Result struct {
	Report    *settle.Report
	Paths     Paths // as resolved
	Malformed int64 // rows of events.tsv
	Skipped   int64 // rows of dedupe.tsv
}

// Status is the exit status of a run with a report: 0, or 2 where something was rejected or malformed.
func (r *Result) Status() int {
	if r.Report.OK() && r.Malformed == 0 {
		return 0
	}
	return 2
}

// Run settles a folder: it sets earlier outputs aside, reads, judges, and puts the list of malformed rows, the
// closing and last the report in their places. Errors are Faults; Status gives their exit status. Where it returns
// an error there is no report.
func Run(ctx context.Context, o Options) (result *Result, err error) {
	o.Paths, err = o.resolve()
	if err != nil {
		return nil, err
	}
	err = guard(func() error {
		result, err = run(ctx, o)
		return err
	})
	return result, asFault(err)
}

func run(ctx context.Context, o Options) (*Result, error) {
	var outputs []string
	for _, out := range o.outputs() {
		outputs = append(outputs, out.path)
	}
	if err := setAside(outputs...); err != nil {
		return nil, err
	}
	result := &Result{Paths: o.Paths}
	in, err := openInputs(o.Dir, func(line int64, why string) {
		result.Skipped++
		if o.Skipped != nil {
			o.Skipped(line, why)
		}
	})
	if err != nil {
		return nil, err
	}
	defer in.events.Close()
	list, err := createOutput(o.Malformed)
	if err != nil {
		return nil, err
	}
	defer list.discard()
	b, err := in.books(ctx, reading{
		memory: o.Memory, workers: o.Workers, progress: o.Progress, keepMarks: o.Closing != "", scratch: filepath.Dir(o.Malformed),
		broken: func(line int64, why reason) error { return writeBroken(list.Writer, line, why) },
	})
	if err != nil {
		return nil, err
	}
	result.Report, result.Malformed = b.report, b.broken
	return result, placeAll(o.Paths, list, in, b)
}

func writeBroken(w *bufio.Writer, line int64, why reason) error {
	_, err := w.Write(append(append(strconv.AppendInt(nil, line, 10), '\t'), why.String()+"\n"...))
	return err
}

// placeAll completes all outputs and then puts them in their places, the report last: who finds a report finds what
// belongs to it.
func placeAll(p Paths, list *output, in *inputs, b *books) error {
	outputs := []*output{list}
	if p.Closing != "" {
		closing, err := createOutput(p.Closing)
		if err != nil {
			return err
		}
		defer closing.discard()
		if err := b.marks.writeClosing(closing.Writer, in.registry.keys); err != nil {
			return err
		}
		outputs = append(outputs, closing)
	}
	if p.Report != StandardOutput {
		report, err := createOutput(p.Report)
		if err != nil {
			return err
		}
		defer report.discard()
		if _, err := report.Write(b.report.Bytes()); err != nil {
			return err
		}
		outputs = append(outputs, report)
	}
	for _, o := range outputs {
		if err := o.complete(); err != nil {
			return err
		}
	}
	for _, o := range outputs {
		if err := o.appear(); err != nil {
			return err
		}
	}
	return nil
}

// asFault makes every error that isn't one a fault of the machine.
func asFault(err error) error {
	if err == nil || Status(err) != int(Machine) {
		return err
	}
	return &Fault{Kind: Machine, Err: fmt.Errorf("the machine failed: %w", err)}
}
