package audit

import (
	"os"
	"path/filepath"
)

// The files of a folder.
const (
	policyFile  = "policy.tsv"
	dedupeFile  = "dedupe.tsv"
	eventsFile  = "events.tsv"
	openingFile = "opening.tsv"
	reportFile  = "report.json"
)

// Books are what the input files come to.
type Books struct {
	fields    map[string][]byte // field → its canonical JSON (RFC 8785)
	Malformed []BadRow          // rows of events.tsv that take part in nothing, in the order of the file
	Skipped   []BadRow          // rows of dedupe.tsv that register nothing
}

// Recompute reads a folder's policy.tsv, dedupe.tsv, events.tsv and opening.tsv and works the books out.
// The error is a *ContractError, an *UnreadableError for the first unreadable input, or the machine's.
func Recompute(dir string) (*Books, error) {
	in, err := openInputs(dir)
	if err != nil {
		return nil, err
	}
	defer in.close()
	return in.recompute()
}

func (in *inputs) recompute() (*Books, error) {
	info, err := in.dedupe.Stat()
	if err != nil {
		return nil, fileError(dedupeFile, err)
	}
	reg, err := readRegistry(in.dedupe, info.Size(), in.policy)
	if err != nil {
		return nil, fileError(dedupeFile, err)
	}
	ev, err := readEvents(in.events, reg.keys)
	if err != nil {
		return nil, err
	}
	sum, err := judgeAll(ev, in.policy, reg, in.openings)
	if err != nil {
		return nil, err
	}
	sum.unknownKey += ev.strangers
	return &Books{fields: writeFields(sum, reg), Malformed: ev.malformed, Skipped: reg.skipped}, nil
}

// inputs are a folder's files, opened; the small ones are read.
type inputs struct {
	policy         policy
	dedupe, events *os.File
	openings       *openings
}

// openInputs finds what is unreadable in the contract's order: policy.tsv, dedupe.tsv, events.tsv, opening.tsv.
func openInputs(dir string) (_ *inputs, err error) {
	in := &inputs{}
	defer func() {
		if err != nil {
			in.close()
		}
	}()
	if in.policy, err = readPolicy(dir); err != nil {
		return nil, err
	}
	if in.dedupe, err = openFile(filepath.Join(dir, dedupeFile), dedupeFile); err != nil {
		return nil, err
	}
	if in.events, err = openFile(filepath.Join(dir, eventsFile), eventsFile); err != nil {
		return nil, err
	}
	in.openings, err = readOpenings(dir)
	return in, err
}

func (in *inputs) close() {
	for _, file := range []*os.File{in.dedupe, in.events} {
		if file != nil {
			file.Close()
		}
	}
}
