package gateway

import "hapax/internal/settle"

// Command is what Take carries out: a Delivered event, a change of the registry, a step of the outbox, or a note.
type Command interface{ command() }

// Event is one verified and well-formed delivery.
type Event struct {
	Name
	ID     string       // opaque, fresh, 1 to 64 bytes
	Scope  settle.Scope // ScopeNone: the source's word for the key stands
	Named  bool         // the delivery names its time
	SeenAt int64        // Unix seconds, where Named
	Behind int64        // how many seconds before now SeenAt may lie, where Named; 0: MaxBehindS
	Amount string       // as it came, "" where it is absent; cut to MaxAmountText
	// AmountOK is false where Amount is no amount by the contract, or the currency is none.
	AmountOK    bool
	Value       settle.Amount // where AmountOK
	Currency    string        // three letters A–Z
	State       settle.State  // what the source says
	Fingerprint Hash          // of what a repeat is compared by
	Digest      Hash          // SHA-256 of the body's bytes
	Strict      bool          // a repeat of another fingerprint is a mismatch (on_mismatch: reject)
	Body        *Body
}

// MaxAmountText bounds what is kept of an amount's text: the export's bound (docs/spec/gateway.md, The log and the books), plus one to tell.
const MaxAmountText = 65

// MaxAheadS is how far a named time may lie ahead of the server, in seconds.
const MaxAheadS = 300

// MaxBehindS is how far a named time may lie behind the server where its source says nothing else, in seconds: ten years. Seconds that
// are taken for milliseconds lie in 1970.
const MaxBehindS = 315_576_000

// Register makes or changes the registration of a key.
type Register struct {
	Name
	Scope       settle.Scope // never ScopeNone
	WindowS     int64        // 0: the source's
	LRUCapacity int64
	File        bool   // a registry file says so; else somebody by the management API
	By          string // their name, whatever it is; not of a file
}

// Unregister removes the registration of a key that has no event.
type Unregister struct {
	Name
	By string
}

// SetSource makes the settings of a source stand. Equal ones change nothing.
type SetSource struct {
	Tenant, Source string
	Settings       Settings
}

// SetPolicy fixes the policy of a new log. An equal one changes nothing.
type SetPolicy struct{ Policy settle.Policy }

// Attempt notes a try before its request leaves.
type Attempt struct {
	Number     int64
	IntervalMs int64 // until the next one, should this one fail
}

// Untried takes an Attempt back whose request never left.
type Untried struct {
	Number     int64
	IntervalMs int64 // as it was before
	LastMs     int64
}

// Failed notes why a try failed; the row waits for the next one. RetryAtMs, where later than the schedule's time, is when the
// destination wants it.
type Failed struct {
	Number    int64
	Reason    string
	RetryAtMs int64
	TookMs    int64 // from the Attempt to the answer, or to the end of waiting for one
}

// Mend brings a row back whose last try, or beginning, lies ahead of now, as the clock went back, or that is due further ahead than any rule puts it
// (Delivery.Beyond): it waits for IntervalMs from now. Any other one is left as it is.
type Mend struct {
	Number     int64
	IntervalMs int64
}

// Settled is the end of a delivery: the destination took it, or it becomes a dead letter.
type Settled struct {
	Number int64
	OK     bool
	Reason string // of a dead letter
	// RetryAtMs is when the destination wants the next try, should a duplicate ask for one; 0: it didn't say.
	RetryAtMs int64
}

// Replay sends a dead letter again, its tries counted anew. Key names the request: the same one again does nothing.
type Replay struct {
	Tenant string
	ID     string
	Key    uint64
	By     string
}

// Discard gives a dead letter up. Key names the request: the same one again does nothing; 0: it has no name.
type Discard struct {
	Tenant string
	ID     string
	Key    uint64
	By     string
}

// AcceptLoss enters into the log that a person accepts what it lost: see LossRecord.
type AcceptLoss struct {
	From   int64 // more than To
	Hash   Hash
	To     int64 // at most the number of the last record
	By     string
	Reason string // MaxReason bytes at most
}

// MaxReason bounds what a person may say of a loss, in bytes: a sentence or two.
const MaxReason = 1024

// Proven notes the result of a full proof. It is no record: a proof speaks of the log, and isn't part of it.
type Proven struct{ Proof Proof }

// Checked notes how far the log was checked since the last full proof. It is no record.
type Checked struct {
	Number int64
	Hash   Hash // of the record of that number
}

// NoteLoss notes that the log went back, until AcceptLoss. It is no record: what the log says of it is that a person accepted it.
type NoteLoss struct{ Loss Loss }

func (*Event) command()      {}
func (*Register) command()   {}
func (*Unregister) command() {}
func (*SetSource) command()  {}
func (*SetPolicy) command()  {}
func (*Attempt) command()    {}
func (*Untried) command()    {}
func (*Failed) command()     {}
func (*Mend) command()       {}
func (*Settled) command()    {}
func (*Replay) command()     {}
func (*Discard) command()    {}
func (*AcceptLoss) command() {}
func (*Proven) command()     {}
func (*Checked) command()    {}
func (*NoteLoss) command()   {}

// Kind says what became of a command.
type Kind uint8

// The kinds of outcomes.
const (
	Done     Kind = iota + 1 // carried out; of an event: see Decision
	Same                     // nothing to do: it stands already, or was done by an earlier request
	Ahead                    // the event names a time too far ahead; refused, nothing stored
	Behind                   // likewise, too far in the past
	NoSource                 // the source has no settings; refused, nothing stored
	NoKey                    // the key isn't registered
	HasEvent                 // the key has an event: its registration stays
	Fixed                    // the policy, or the number of parts of a source's keys, is another one and can't change
	NoRow                    // there is no such outbox row
	NotDead                  // the event is no dead letter
	NoPolicy                 // the log has no policy yet: nothing can be judged or registered
	Invalid                  // a field holds what no record of it may hold (docs/log.md); refused, nothing stored
)

// Decision of an event; a mismatch is a decision of the gateway alone.
type Decision uint8

// The decisions. Their numbers are their places in DecisionNames.
const (
	UnknownKey Decision = iota
	BadAmount
	Mismatch
	DuplicatePending
	DuplicateDone
	Accept
)

var decisionNames = [...]string{"unknown_key", "bad_amount", "mismatch", "duplicate_pending", "duplicate_done", "accept"}

func (d Decision) String() string { return decisionNames[d] }

// ParseDecision reads the name of a decision.
func ParseDecision(name string) (Decision, bool) {
	for d, n := range decisionNames {
		if n == name {
			return Decision(d), true
		}
	}
	return 0, false
}

// Deduped reports whether the event repeats an accepted one.
func (d Decision) Deduped() bool { return d == DuplicatePending || d == DuplicateDone }

// Rejected reports whether the event takes no part in its key's history.
func (d Decision) Rejected() bool { return d <= Mismatch }

// Outcome is what became of a command. The fields below Kind are of an event with Kind Done; Number also of others that left a record.
type Outcome struct {
	Kind       Kind
	Number     int64 // of the record, 0 where none was written
	Decision   Decision
	ID         string
	SeenAt     int64  // Unix seconds as judged
	Raised     bool   // the time was before the predecessor's and was raised to it
	WindowS    int64  // in force; 0 for unknown_key and bad_amount
	GapS       int64  // to the predecessor, where there is one
	Repeats    int64  // of a dedupe or a mismatch: repeats of the root before it
	RootNumber int64  // of a dedupe or a mismatch: the accepted event that it repeats
	RootID     string // likewise
	Differs    bool   // its content differs from the root's
	TwinNumber int64  // of an accept or a mismatch at a guarded source: the event of another key that was accepted with the same body
	TwinID     string // likewise
	Currencies bool   // a mismatch because the predecessor within the window is in another currency
}
