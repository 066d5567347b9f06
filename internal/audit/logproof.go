package audit

import (
	"context"
	"errors"
	"fmt"
)

// ProofOptions bound a proof of a log.
type ProofOptions struct {
	// Keys that are held at a time, outbox rows counted in, at 200 bytes each; a log of more is read several times over, each time for a share
	// of its keys. 0: DefaultProofKeys.
	Keys int
	// Passes to begin with, a power of two; what an earlier proof needed. 0: one.
	Passes int
	// Pace is called once every PaceRecords records; it may wait. An error ends the proof. nil: full speed.
	Pace func(ctx context.Context) error
	// Whole compares also what takes as long again and what a server's own proof leaves out: the bodies that are kept with their digests, and
	// what events are found by.
	Whole bool
	// Anchors are heads noted outside of the store.
	Anchors []Anchored
}

// DefaultProofKeys takes about 800 MB where there are so many keys.
const DefaultProofKeys = 4 << 20

// PaceRecords is how many records are judged between two calls of Pace: half a millisecond's work.
const PaceRecords = 256

// maxPasses bounds how often a log is read over.
const maxPasses = 1 << 12

// LogProof is what a proof found.
type LogProof struct {
	Number  int64    // of the last record
	Hash    [32]byte // of its bytes
	Records int64    // looked at
	Events  int64    // judged again
	Keys    int64    // that they are of
	Passes  int
	Issues  []string // the first ones, by record; empty: all is right
	Found   int64    // how many issues there are
}

// OK says that nothing is wrong.
func (p *LogProof) OK() bool { return p.Found == 0 }

// ProveLog proves a log (docs/spec/gateway.md, Proof): the chain is whole, every decision right by the contract, the books equal to what the
// records come to, and the outbox what was accepted for a destination and is neither delivered nor discarded; and all rows that the store keeps to find others by are those of the rows, none missing and none more. An error means that the log
// couldn't be read to its end; what is wrong with it is in the proof.
func ProveLog(ctx context.Context, log Log, o ProofOptions) (proof *LogProof, err error) {
	if o.Keys == 0 {
		o.Keys = DefaultProofKeys
	}
	for parts := max(1, o.Passes); parts <= maxPasses; parts *= 2 {
		p := &prover{ctx: ctx, log: log, options: o, proof: &LogProof{Passes: parts}}
		err = guarded(p.run)
		if !errors.Is(err, errTooMany) {
			return p.proof, err
		}
	}
	return nil, fmt.Errorf("the log has too many keys: %d passes over it aren't enough", maxPasses)
}

// prover is a proof under way.
type prover struct {
	ctx     context.Context
	log     Log
	options ProofOptions
	proof   *LogProof
	issues  issues
	fold    fold
	head    StatedHead
	ledgers map[bookID]*ledgerCheck

	indexes  indexes
	bodiless numberSet // rows of the outbox whose body wasn't found yet
}

func (p *prover) run() (err error) {
	if p.head, err = p.log.Head(), p.ctx.Err(); err != nil {
		return err
	}
	p.fold = fold{
		hash: newHasher(), parts: uint64(p.proof.Passes), limit: p.options.Keys, issues: &p.issues,
		sourceAt: map[string]uint32{}, books: map[bookID]*logBook{},
	}
	if p.fold.parts > 1 {
		p.fold.strays = &numberSet{}
	}
	p.fold.whole = p.options.Whole
	p.ledgers, p.indexes = map[bookID]*ledgerCheck{}, newIndexes()
	for p.fold.part = 0; p.fold.part < p.fold.parts; p.fold.part++ {
		if err := p.pass(); err != nil {
			return err
		}
	}
	if err := p.compareWhole(); err != nil {
		return err
	}
	p.proof.Events, p.proof.Issues, p.proof.Found = p.fold.events, p.issues.texts(), p.issues.total
	return nil
}

// pass reads the log once, for a share of the keys, and holds what it comes to against what is stated of them.
func (p *prover) pass() error {
	f := &p.fold
	f.keys, f.outbox, f.owed = newLogKeys(), map[int64]outRow{}, debt{}
	f.ruled = false
	for i := range f.sources {
		f.sources[i].known, f.sources[i].settings, f.sources[i].bodies = false, settings{}, bodies{}
	}
	c := chain{issues: &p.issues, anchors: sortedAnchors(p.options.Anchors), expected: 1}
	count := int64(0)
	for raw, err := range p.log.Records(0) {
		if err != nil {
			return err
		}
		if count++; count%PaceRecords == 0 {
			if err := p.pause(); err != nil {
				return err
			}
		}
		if f.firstPass() {
			if _, ok := c.take(raw); !ok {
				continue
			}
		}
		if err := f.take(raw); err != nil {
			return err
		}
	}
	f.settle(&logRecord{}, keyID{})
	if f.firstPass() {
		c.end(&p.head)
		p.wantTwins()
		p.proof.Records, p.proof.Number, p.proof.Hash = count, c.last, c.hash
	}
	return p.compareShare()
}

func (p *prover) pause() error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if p.options.Pace != nil {
		return p.options.Pace(p.ctx)
	}
	return nil
}
