package settle

import "cmp"

// Scope is what a key's repeats are compared within. ScopeNone stands for the empty column of an event, which
// means the scope of the standing registration; a judged event has never ScopeNone.
type Scope uint8

// The scopes of contract.md, Inputs.
const (
	ScopeNone Scope = iota
	ScopeSchema
	ScopeWire
)

func (s Scope) String() string {
	switch s {
	case ScopeSchema:
		return "schema"
	case ScopeWire:
		return "wire"
	}
	return ""
}

// State says whether the effect of an event is finished.
type State uint8

// The states of contract.md, Inputs.
const (
	StateDone State = iota
	StatePending
)

func (s State) String() string {
	if s == StatePending {
		return "pending"
	}
	return "done"
}

// Policy is policy.tsv.
type Policy struct {
	BlockWindowS int64 // default replay window in seconds
	ScopeStrict  bool  // a repeat must also have its predecessor's scope
	LRUMinHits   int64 // dedupes that bring a key into the ledger; 0 means one, as none is never enough
}

// Registration is one row of dedupe.tsv without its key.
type Registration struct {
	WindowS     int64 // seconds; 0 means the policy's default
	LRUCapacity int64
	Since       int64 // first seq this row may stand for
	Scope       Scope
}

// Event is what an upstream delivered, without its key.
type Event struct {
	Seq     int64
	SeenAt  int64 // Unix seconds
	LRURank int64
	Amount  Amount // meaningful where AmountOK
	// AmountOK is false where the text was no amount by the contract's grammar.
	AmountOK bool
	Scope    Scope
	State    State
}

// Compare is the order of judging: negative where e goes before other. Of two that are equal here the first in the
// file goes first.
func (e *Event) Compare(other *Event) int {
	return cmp.Or(cmp.Compare(e.SeenAt, other.SeenAt), cmp.Compare(e.Seq, other.Seq))
}

// Predecessor is what a later event of the same key is measured against: the latest accepted or deduped event,
// or the key's opening row.
type Predecessor struct {
	SeenAt int64
	Scope  Scope // as judged
	State  State
}
