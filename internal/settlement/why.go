package settlement

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hapax/internal/settle"
)

// Chain is what happened to one key: its events in the order of judging, each with its decision and reason.
type Chain struct {
	Tenant, Source, DedupeKey string
	Registered                bool // a row of dedupe.tsv names it
	Steps                     []Step
	Broken                    []Broken // malformed rows that name the key: they take part in nothing
}

// Step is one judged event.
type Step struct {
	Line    int64 // in events.tsv
	Event   settle.Event
	Amount  string // as it stands in the file
	Outcome settle.Outcome
	Reason  string // one sentence
}

// Broken is a malformed row.
type Broken struct {
	Line int64
	Why  string
}

// Why judges the events of one key of a folder and explains each. It writes nothing. Errors are Faults.
func Why(ctx context.Context, dir, tenant, source, key string) (*Chain, error) {
	if !settle.ValidTenant([]byte(tenant)) || !settle.ValidName([]byte(source)) || !settle.ValidName([]byte(key)) {
		return nil, usageFault("tenant, source and key must be names of 1 to 256 bytes without control characters or outer white space")
	}
	chain := &Chain{Tenant: tenant, Source: source, DedupeKey: key}
	err := guard(func() error {
		q := inquiry{chain: chain, row: []byte(tenant + "\t" + source + "\t" + key), registry: newRegistry()}
		return q.run(ctx, dir)
	})
	if err != nil {
		return nil, asFault(err)
	}
	return chain, nil
}

// inquiry is a Why under way.
type inquiry struct {
	chain    *Chain
	row      []byte // the key's three columns as they stand in a row
	policy   settle.Policy
	registry *registry
	head     uint32 // of the key's registrations
	book     settle.KeyBook
	last     string // the predecessor in words
}

func (q *inquiry) run(ctx context.Context, dir string) (err error) {
	if q.policy, err = readPolicy(filepath.Join(dir, PolicyFile)); err != nil {
		return err
	}
	if err := q.readRegistrations(filepath.Join(dir, DedupeFile)); err != nil {
		return inputFault(DedupeFile, err)
	}
	if err := q.readEvents(ctx, filepath.Join(dir, EventsFile)); err != nil {
		return inputFault(EventsFile, err)
	}
	opened := &inputs{registry: q.registry}
	if err := opened.readOpening(filepath.Join(dir, OpeningFile)); err != nil {
		return inputFault(OpeningFile, err)
	}
	q.open(opened.opening)
	q.judge()
	return nil
}

func (q *inquiry) readRegistrations(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return eachLine(file, func(_ int64, line []byte) error {
		if !bytes.HasPrefix(line, q.row) || kindOf(line) != lineRow {
			return nil
		}
		if name, registration, why := registryRow(line); why == good && q.names(name) {
			q.head = q.registry.push(q.head, registration)
			q.chain.Registered = true
		}
		return nil
	})
}

func (q *inquiry) names(n keyName) bool {
	return string(n.tenant) == q.chain.Tenant && string(n.source) == q.chain.Source && string(n.key) == q.chain.DedupeKey
}

func (q *inquiry) readEvents(ctx context.Context, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return eachLine(file, func(number int64, line []byte) error {
		if !bytes.Contains(line, q.row) {
			return ctx.Err()
		}
		var c [9][]byte
		kind := kindOf(line)
		if kind == lineSkipped || columns(line, c[:]) < 4 || !q.names(keyName{tenant: c[1], source: c[2], key: c[3]}) {
			return ctx.Err()
		}
		why := badLine
		var e settle.Event
		if kind == lineRow {
			_, e, why = eventRow(line)
		}
		if why != good {
			q.chain.Broken = append(q.chain.Broken, Broken{Line: number, Why: why.String()})
			return ctx.Err()
		}
		q.chain.Steps = append(q.chain.Steps, Step{Line: number, Event: e, Amount: string(c[6])})
		return ctx.Err()
	})
}

// open looks the key up among the keys of opening.tsv, which are all that the registry's table has here.
func (q *inquiry) open(rows []opening) {
	ref, ok := q.registry.keys.find(q.row[:len(q.chain.Tenant)+1+len(q.chain.Source)], []byte(q.chain.DedupeKey))
	if !ok {
		return
	}
	for _, row := range rows {
		if row.key == ref.number {
			q.book.Open(row.predecessor)
			q.last = "its opening row"
		}
	}
}

func (q *inquiry) judge() {
	slices.SortStableFunc(q.chain.Steps, func(a, b Step) int { return a.Event.Compare(&b.Event) })
	for i := range q.chain.Steps {
		s := &q.chain.Steps[i]
		before, known := q.book.Predecessor, q.book.Known
		s.Outcome = q.book.Take(&q.policy, q.registry.stands(q.head, s.Event.Seq), &s.Event)
		s.Reason = q.explain(s, known, before)
		if !s.Outcome.Decision.Rejected() {
			q.last = fmt.Sprintf("line %d (seq %d)", s.Line, s.Event.Seq)
		}
	}
}

func (q *inquiry) explain(s *Step, known bool, before settle.Predecessor) string {
	o := s.Outcome
	switch {
	case o.Decision == settle.UnknownKey && !q.chain.Registered:
		return "no good row of dedupe.tsv names the key"
	case o.Decision == settle.UnknownKey:
		return fmt.Sprintf("the key is registered only from a later seq than %d on", s.Event.Seq)
	case o.Decision == settle.BadAmount:
		return fmt.Sprintf("%q is no amount", s.Amount)
	case !known:
		return "the first of its key"
	case o.GapS > o.WindowS:
		return fmt.Sprintf("%d s after %s, beyond the window of %d s", o.GapS, q.last, o.WindowS)
	case o.Decision == settle.Accept:
		return fmt.Sprintf("%d s after %s, within the window of %d s, but its scope %s isn't %s", o.GapS, q.last, o.WindowS, o.Scope, before.Scope)
	}
	return fmt.Sprintf("%d s after %s, which was %s, within the window of %d s", o.GapS, q.last, before.State, o.WindowS)
}
