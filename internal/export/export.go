package export

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// The files of a currency's folder.
const (
	policyFile     = "policy.tsv"
	dedupeFile     = "dedupe.tsv"
	eventsFile     = "events.tsv"
	mismatchesFile = "mismatches.tsv"
)

// dedupeHeading begins dedupe.tsv: the first row may be of a tenant whose name begins with U+FEFF, which would be dropped as a byte-order mark
// where it began the file. All other files begin with a digit or a word.
const dedupeHeading = "# tenant\tsource\tdedupe_key\tscope\twindow_s\tlru_capacity\tsince\n"

// Summary is what was written.
type Summary struct {
	Number        int64 // of the last record that it holds
	Registrations int64 // rows of dedupe.tsv, the same in each folder
	Currencies    []Currency
}

// Currency is one folder, named like it.
type Currency struct {
	Name       string
	Events     int64
	Mismatches int64
}

// Export writes a view into the folder out, which must be empty or missing; it and those in it get the mode, files that without the bits for running. Errors: ErrNotEmpty, and the machine's; then out is as it was.
func Export(ctx context.Context, v store.BooksView, out string, mode os.FileMode) (*Summary, error) {
	var s *Summary
	err := place(out, mode, func(dir string) error {
		e := &exporter{ctx: ctx, view: v, files: newFiles(dir, mode), currencies: map[string]*Currency{}}
		if err := e.run(); err != nil {
			return err
		}
		s = &Summary{Number: v.Head().Number, Registrations: e.registrations}
		for _, name := range slices.Sorted(maps.Keys(e.currencies)) {
			s.Currencies = append(s.Currencies, *e.currencies[name])
		}
		return e.files.finish()
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// exporter is an Export under way.
type exporter struct {
	ctx        context.Context
	view       store.BooksView
	files      *files
	past       *past
	currencies map[string]*Currency

	registry      registry
	registrations int64
	row           []byte // scratch
}

func (e *exporter) run() (err error) {
	if e.past, err = scan(e.ctx, e.view); err != nil {
		return err
	}
	if err := e.files.write(dedupeFile, []byte(dedupeHeading)); err != nil {
		return err
	}
	e.registry = registry{past: e.past, policy: e.view.Head().Policy, sources: map[sourceName]*sourceKeys{}}
	for name := range e.past.currencies {
		e.currencies[name] = &Currency{Name: name}
		for _, file := range []string{eventsFile, mismatchesFile} {
			if err := e.files.write(name+"/"+file, nil); err != nil { // there, even where it is empty
				return err
			}
		}
	}
	if err := e.writeRows(); err != nil {
		return err
	}
	return e.writeShared()
}

// writeRows reads the log the second time.
func (e *exporter) writeRows() error {
	return eachRecord(e.ctx, e.view, func(entry *gateway.Entry) error {
		if event, ok := entry.Record.(*gateway.EventRecord); ok {
			return e.writeEvent(entry.Number, event)
		}
		return e.registry.take(entry, e.writeRegistration)
	})
}

// writeRegistration adds a row of dedupe.tsv, which is written once and then put into each folder.
func (e *exporter) writeRegistration(row []byte) error {
	e.registrations++
	return e.files.write(dedupeFile, row)
}

// writeShared gives each folder what is the same in all.
func (e *exporter) writeShared() error {
	p := e.view.Head().Policy
	strict := 0
	if p.ScopeStrict {
		strict = 1
	}
	text := fmt.Appendf(nil, "BLOCK_WINDOW_S\t%d\nSCOPE_STRICT\t%d\nLRU_MIN_HITS\t%d\n", p.BlockWindowS, strict, p.LRUMinHits)
	for name := range e.currencies {
		if err := e.files.write(name+"/"+policyFile, text); err != nil {
			return err
		}
		if err := e.files.copy(dedupeFile, name+"/"+dedupeFile); err != nil {
			return err
		}
	}
	return e.files.remove(dedupeFile)
}

// eachRecord decodes all records.
func eachRecord(ctx context.Context, v store.BooksView, f func(*gateway.Entry) error) error {
	seen := 0
	for raw, err := range v.Records(0) {
		if err != nil {
			return err
		}
		if seen++; seen%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		entry, err := gateway.ReadRecord(raw)
		if err != nil {
			return fmt.Errorf("%w: record %d: %w; \"hapax audit\" tells more", store.ErrDamage, seen, err)
		}
		if err := f(&entry); err != nil {
			return err
		}
	}
	return nil
}
