package settle

// Decision is the one word of an outcome.
type Decision uint8

// The decisions of contract.md, Judging, in the order in which the rule tries them.
const (
	UnknownKey Decision = iota
	BadAmount
	DuplicatePending
	DuplicateDone
	Accept
)

var decisionNames = [...]string{"unknown_key", "bad_amount", "duplicate_pending", "duplicate_done", "accept"}

func (d Decision) String() string { return decisionNames[d] }

// Rejected reports whether the event takes no part in its key's history.
func (d Decision) Rejected() bool { return d == UnknownKey || d == BadAmount }

// Deduped reports whether the event repeats its predecessor.
func (d Decision) Deduped() bool { return d == DuplicatePending || d == DuplicateDone }

// Facts are what the rule may look at besides the event.
type Facts struct {
	Policy *Policy
	// Registration is the last good row of the key with Since ≤ the event's Seq; nil where there is none.
	Registration *Registration
	// Predecessor is nil for a key's first accepted event.
	Predecessor *Predecessor
}

// Outcome is the decision and what it was measured with. Scope, WindowS and GapS are zero for a rejected event,
// GapS also for one without predecessor.
type Outcome struct {
	Decision Decision
	Scope    Scope // as judged
	WindowS  int64
	GapS     int64 // seen_at minus the predecessor's; negative only after an opening row dated later
}

// Judge is the rule of contract.md, Judging: the first that applies of unknown_key, bad_amount, duplicate, accept.
func Judge(f Facts, e *Event) Outcome {
	if f.Registration == nil {
		return Outcome{Decision: UnknownKey}
	}
	if !e.AmountOK {
		return Outcome{Decision: BadAmount}
	}
	o := Outcome{Decision: Accept, Scope: e.Scope, WindowS: f.Registration.WindowS}
	if o.Scope == ScopeNone {
		o.Scope = f.Registration.Scope
	}
	if o.WindowS == 0 {
		o.WindowS = f.Policy.BlockWindowS
	}
	if f.Predecessor == nil {
		return o
	}
	o.GapS = e.SeenAt - f.Predecessor.SeenAt
	if o.GapS > o.WindowS {
		return o
	}
	if f.Policy.ScopeStrict && f.Predecessor.Scope != o.Scope {
		return o
	}
	o.Decision = DuplicateDone
	if f.Predecessor.State == StatePending {
		o.Decision = DuplicatePending
	}
	return o
}
