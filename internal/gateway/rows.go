package gateway

import "hapax/internal/settle"

// Name is a key of the contract: three columns, never joined.
type Name struct{ Tenant, Source, Key string }

// BookName names one of the books: they are kept per currency, and within it per tenant and source.
type BookName struct{ Currency, Tenant, Source string }

// Hash is a SHA-256.
type Hash [32]byte

// Rows are what one commit reads and changes. A pointer belongs to the commit: Take changes it in place, the store writes what
// changed when the commit is synced, and forgets all of it when the commit fails. The same name gives the same pointer
// within a commit. An error means that the machine failed; the commit is then given up as a whole.
type Rows interface {
	// Head is the end of the log.
	Head() *Head
	// Source returns the standing settings of a source, nil where it never had any.
	Source(tenant, source string) (*Source, error)
	// PutSource makes the row of a source that has none.
	PutSource(tenant, source string) *Source
	// Key returns what is kept of a key, the zero Key where nothing is.
	Key(n Name) (*Key, error)
	// Book returns a book, the zero Book where nothing was entered.
	Book(n BookName) (*Book, error)
	// Delivery returns the outbox row of an event, nil where none is (never forwarded, delivered or discarded).
	Delivery(number int64) (*Delivery, error)
	// PutDelivery makes an outbox row.
	PutDelivery(d Delivery)
	// DropDelivery removes an outbox row.
	DropDelivery(number int64)
	// NextHeld returns the outbox row of the lowest number of a key that is Waiting, nil where none is.
	NextHeld(n Name) (*Delivery, error)
	// Asked returns the requests that decided about an event whose outbox row is gone, nil where none are remembered.
	Asked(number int64) (*Asked, error)
	// PutAsked remembers them, of an event that has none remembered.
	PutAsked(a Asked)
	// ForgetAsked forgets those put before a moment (Unix ms), the oldest first, at most MaxForget of them.
	ForgetAsked(before int64) error
	// Number returns the number of the event with that id, 0 where there is none.
	Number(id string) (int64, error)
	// Twin returns what was last accepted at a source with a body, in a generation; nil where nothing was.
	Twin(tenant, source string, generation int64, digest Hash) (*Twin, error)
	// PutTwin notes what was accepted with a body, in place of what was before it in that generation.
	PutTwin(tenant, source string, generation int64, digest Hash, t Twin)
	// DropTwins removes what Twin returns of generations before one.
	DropTwins(tenant, source string, before int64)
	// Append stores a record under its number.
	Append(number int64, record []byte)
	// PutEvent notes an event's id, and its body apart from the record; b may be nil.
	PutEvent(number int64, n Name, id string, b *Body)
}

// Head is the end of the log, and what there is one of.
type Head struct {
	Number int64 // of the last record; 0 in an empty log
	Hash   Hash  // of the last record; zero in an empty log
	Policy settle.Policy
	Ruled  bool  // the policy has been set
	Proof  Proof // the last full proof
	// Checked is how far the log was checked since, record by record: a start goes on from there.
	Checked Checked
	Lost    Loss // what the log lost, until a person accepts it
	// Accepted is the number of the last LossRecord; 0: none.
	Accepted int64
}

// Proof is the result of a proof of the log up to a number.
type Proof struct {
	Number int64 // 0: never
	Hash   Hash  // of the record of that number
	At     int64 // Unix ms
	Events int64 // judged again
	OK     bool
	Issues []string // at most MaxIssues
}

// MaxIssues bounds what is kept of a failed proof; the first ones tell where to look.
const MaxIssues = 20

// Source is what stands for the keys of a source. It changes by a record only.
type Source struct {
	Settings
	Events int64 // of all its keys; once there is one, Settings.Parts is fixed
	// Generation is the span of GuardS seconds, counted from 1970, in which the last event was accepted since the guard stands; 0: none.
	Generation int64
}

// Settings are what a configuration says of a source that judging needs.
type Settings struct {
	WindowS     int64        // replay window in seconds of keys that have none of their own; 0: the policy's
	Scope       settle.Scope // of events that name none, where their key doesn't; and of keys that register themselves
	LRUCapacity int64        // of keys that register themselves
	Open        bool         // a key registers itself by its first event; else it must be registered
	Forward     bool         // accepted events go to a destination
	Parts       int64        // parts of a key, 1 at least
	Guard       Guard        // what becomes of a body that comes again under another key
	GuardS      int64        // within how many seconds; 0 where Guard is GuardOff, else more
}

// Key is what is kept of one key.
type Key struct {
	Registered  bool
	Scope       settle.Scope // as registered
	WindowS     int64        // as registered; 0: the source's
	LRUCapacity int64        // as registered
	Since       int64        // number of the registration that stands

	LastEvent int64 // number of its last event whatever the decision; 0: none. The records are linked by it
	Events    int64
	Accepted  int64 // events accepted: the ordinal that a destination sees
	Waiting   int64 // outbox rows of the key in state Waiting

	Last    Predecessor // the last accepted or deduped event, where Last.Number > 0
	Root    Root        // the accepted event at the root of its chain
	Repeats int64       // deduped events since Root
	Hits    []Hits      // deduped events ever, by currency in the order in which they first came
}

// Predecessor is the event that the next one of its key is measured against.
type Predecessor struct {
	Number   int64
	SeenAt   int64 // Unix seconds
	Scope    settle.Scope
	Currency string
	Said     settle.State // what its source said; stands where the root isn't forwarded
}

// Root is the accepted event at the root of a key's present chain.
type Root struct {
	Number      int64
	ID          string
	Fingerprint Hash
	Forwarded   bool
	Delivered   bool // a destination answered 2xx
}

// State is the state of the key's last event (docs/spec/gateway.md, The log and the books): with a destination that of the
// root of its chain, else what its source said.
func (k *Key) State() settle.State {
	if !k.Root.Forwarded {
		return k.Last.Said
	}
	if k.Root.Delivered {
		return settle.StateDone
	}
	return settle.StatePending
}

// Hits are a key's deduped events in one currency.
type Hits struct {
	Currency string
	Count    int64
	Last     settle.Recency // of the last one
}

func (k *Key) hits(currency string) *Hits {
	for i := range k.Hits {
		if k.Hits[i].Currency == currency {
			return &k.Hits[i]
		}
	}
	k.Hits = append(k.Hits, Hits{Currency: currency})
	return &k.Hits[len(k.Hits)-1]
}

// Book holds the sums of one tenant's source in one currency.
type Book struct {
	Totals     settle.Totals
	Tenant     settle.Tenant // the tenant's share from this source
	Mismatches int64         // logged, and counted apart from Totals
}

// DeliveryState is where an outbox row stands.
type DeliveryState uint8

// The states of an outbox row. A delivered or discarded event has none.
const (
	Waiting DeliveryState = 1 // to be sent; held while Due is Held
	Dead    DeliveryState = 2 // a dead letter, with its reason
)

// Held is the Due of a row that waits for an earlier event of its key.
const Held = int64(1<<63 - 1)

// Delivery is an outbox row: an accepted event that its destination has not taken yet.
type Delivery struct {
	Number  int64 // of the event
	ID      string
	Name    Name
	Ordinal int64 // rises per key by one (header Hapax-Number)
	State   DeliveryState
	Reason  string // of a dead letter; of a waiting row what the last try said
	Since   int64  // Unix ms at which the present run of tries began: accepted, or replayed

	Attempts   int   // tries of the present run
	Sends      int64 // tries ever (header Hapax-Attempt)
	IntervalMs int64 // until the next try, from LastMs
	LastMs     int64 // Unix ms of the last try: of its answer, as long as there is none of its beginning; 0: no try yet
	NotBefore  int64 // Unix ms before which the destination wants no try, by its last answer; 0: it didn't say
	Due        int64 // Unix ms of the next try; Held
	Once       bool  // the next try is the last: a duplicate of the dead letter asked for it

	Replays []uint64 // keys of the last replays, so that one that comes again by the transport counts once
}

// Asked are the requests that decided about a dead letter, kept for AskedMs after its outbox row has gone, so that one that comes again by
// the transport is answered as it was at first.
type Asked struct {
	Number int64 // of the event
	Tenant string
	At     int64    // Unix ms at which its outbox row went
	Keys   []uint64 // of replays, and of the discard
}

// AskedMs is how long a request that comes again is answered as at first, MaxForget how many are forgotten at most when one is put.
const (
	AskedMs   = 24 * 3_600_000
	MaxForget = 8
)

// Body is what was received, kept apart from the record so that it can be erased.
type Body struct {
	ContentType string
	Headers     []Header // those that the source forwards
	Bytes       []byte
}

// Header is one header line.
type Header struct{ Name, Value string }
