package gateway

import (
	"crypto/sha256"
	"encoding/binary"

	"hapax/internal/settle"
)

// The bytes of a record (docs/log.md): fields one after the other, each its length as an unsigned varint and then its bytes. An
// integer is 8 bytes, big-endian, two's complement. The first four fields are the same in all: the kind's name, the number, the hash
// of the record before (32 zero bytes in the first one), and the moment of the commit in Unix ms. A record's hash is the SHA-256 of
// its bytes.

// Record is one entry of the log.
type Record interface {
	kind() string
	fields(f *fields)
}

// The kinds. A record's fields are fixed by its kind, so one whose fields change gets a kind of its own; those of before stay readable.
const (
	KindPolicy     = "policy"
	KindSource     = "source"
	KindRegister   = "register.2"
	KindUnregister = "unregister.2"
	KindEvent      = "event"
	KindDelivery   = "delivery.2"
	KindLoss       = "loss"

	KindGuarded = "source.2" // of a source that is guarded, with its guard
	KindTwin    = "event.2"  // of an event whose body was accepted before under another key, with that event

	// Without an origin: by, a name from outside, could be a word of the machine's.
	kindRegister1   = "register"
	kindUnregister1 = "unregister"
	kindDelivery1   = "delivery"
)

// PolicyRecord fixes the policy. It is the first record of a log.
type PolicyRecord struct{ settle.Policy }

// SourceRecord changes what stands for a source's keys from the next number on.
type SourceRecord struct {
	Tenant, Source string
	Settings
}

// RegisterRecord registers a key, or changes its registration, from the next number on.
type RegisterRecord struct {
	Name
	Scope       settle.Scope
	WindowS     int64
	LRUCapacity int64
	Origin      Origin // OriginOpen, OriginFile or OriginAPI
	By          string
}

// UnregisterRecord removes the registration of a key that has no event.
type UnregisterRecord struct {
	Name
	Origin Origin // OriginAPI
	By     string
}

// EventRecord is a decision, with all that it rests on.
type EventRecord struct {
	Name
	ID       string
	Decision Decision
	Currency string
	Amount   string // as it came, cut to MaxAmountText
	AmountOK bool
	Said     settle.Scope // as the event said
	Scope    settle.Scope // as judged; none for unknown_key and bad_amount
	State    settle.State // as the source said
	Named    bool
	NamedAt  int64 // Unix seconds, where Named
	SeenAt   int64 // as judged
	WindowS  int64 // in force; 0 for unknown_key and bad_amount

	Prior            int64        // the key's event before, whatever its decision; 0: none
	Predecessor      int64        // the event that it was measured against; 0: none
	PredecessorState settle.State // the one that the predecessor was in at that moment
	Root             int64        // the accepted event at the root of the predecessor's chain; 0: none
	Forwarded        bool         // it went into the outbox

	Fingerprint Hash
	Digest      Hash // of the body's bytes
	Strict      bool // a repeat of another fingerprint is a mismatch

	Twin int64 // the event of another key that was accepted with the same body, at a guarded source; 0: none
}

// DeliveryRecord is the outcome of a forwarding.
type DeliveryRecord struct {
	Event  int64 // its number
	What   string
	Reason string // of a death
	Sends  int64  // requests sent so far, where Delivered
	Origin Origin // OriginForward where Delivered or Died, OriginAPI where Discarded, else OriginAPI or OriginDuplicate
	By     string // who discarded or revived it
}

// LossRecord says that a person accepted that the log lost its end: it was known up to From, and of that nothing stands beyond To. The
// numbers between were given before, to other records. It changes no books.
type LossRecord struct {
	From   int64  // the highest number known of the log before: of an anchor, or of the head noted beside it
	Hash   Hash   // of the record that had that number
	To     int64  // the last number up to which the log is what was known; before the loss was told nothing stood beyond it, or something else
	By     string // who accepted it: an operator at the machine
	Reason string // in their words
}

// What a DeliveryRecord tells.
const (
	Delivered = "delivered" // the destination answered 2xx
	Died      = "dead"      // it became a dead letter
	Discarded = "discarded" // a dead letter was given up
	Revived   = "revived"   // a dead letter goes back to the outbox: a replay, or a duplicate by the upstream
)

// HashOf is the hash of a record's bytes.
func HashOf(record []byte) Hash { return sha256.Sum256(record) }

// AppendRecord appends the bytes of a record.
func AppendRecord(dst []byte, number int64, before Hash, at int64, r Record) []byte {
	f := fields{out: dst}
	f.text(r.kind())
	f.integer(number)
	f.hash(before)
	f.integer(at)
	r.fields(&f)
	return f.out
}

type fields struct{ out []byte }

func (f *fields) text(s string) {
	f.out = append(binary.AppendUvarint(f.out, uint64(len(s))), s...)
}

func (f *fields) integer(n int64) {
	f.out = binary.BigEndian.AppendUint64(append(f.out, 8), uint64(n))
}

func (f *fields) hash(h Hash) { f.out = append(append(f.out, byte(len(h))), h[:]...) }

func (f *fields) flag(b bool) {
	n := int64(0)
	if b {
		n = 1
	}
	f.integer(n)
}

// who writes an origin, where the kind has one, and the name beside it.
func (f *fields) who(o Origin, by string) {
	if o != OriginUnsaid {
		f.text(o.String())
	}
	f.text(by)
}

func (f *fields) name(n *Name) {
	f.text(n.Tenant)
	f.text(n.Source)
	f.text(n.Key)
}

func (*PolicyRecord) kind() string { return KindPolicy }

func (r *SourceRecord) kind() string {
	if r.Guard != GuardOff {
		return KindGuarded
	}
	return KindSource
}

func (r *RegisterRecord) kind() string { return r.Origin.kind(kindRegister1, KindRegister) }
func (r *UnregisterRecord) kind() string {
	return r.Origin.kind(kindUnregister1, KindUnregister)
}

func (r *EventRecord) kind() string {
	if r.Twin != 0 {
		return KindTwin
	}
	return KindEvent
}

func (r *DeliveryRecord) kind() string { return r.Origin.kind(kindDelivery1, KindDelivery) }
func (*LossRecord) kind() string       { return KindLoss }

func (r *PolicyRecord) fields(f *fields) {
	f.integer(r.BlockWindowS)
	f.flag(r.ScopeStrict)
	f.integer(r.LRUMinHits)
}

func (r *SourceRecord) fields(f *fields) {
	f.text(r.Tenant)
	f.text(r.Source)
	f.integer(r.WindowS)
	f.text(r.Scope.String())
	f.integer(r.LRUCapacity)
	f.flag(r.Open)
	f.flag(r.Forward)
	f.integer(r.Parts)
	if r.Guard != GuardOff {
		f.text(r.Guard.String())
		f.integer(r.GuardS)
	}
}

func (r *RegisterRecord) fields(f *fields) {
	f.name(&r.Name)
	f.text(r.Scope.String())
	f.integer(r.WindowS)
	f.integer(r.LRUCapacity)
	f.who(r.Origin, r.By)
}

func (r *UnregisterRecord) fields(f *fields) {
	f.name(&r.Name)
	f.who(r.Origin, r.By)
}

func (r *EventRecord) fields(f *fields) {
	f.name(&r.Name)
	f.text(r.ID)
	f.text(r.Decision.String())
	f.text(r.Currency)
	f.text(r.Amount)
	f.flag(r.AmountOK)
	f.text(r.Said.String())
	f.text(r.Scope.String())
	f.text(r.State.String())
	f.flag(r.Named)
	f.integer(r.NamedAt)
	f.integer(r.SeenAt)
	f.integer(r.WindowS)
	f.integer(r.Prior)
	f.integer(r.Predecessor)
	f.text(r.PredecessorState.String())
	f.integer(r.Root)
	f.flag(r.Forwarded)
	f.hash(r.Fingerprint)
	f.hash(r.Digest)
	f.flag(r.Strict)
	if r.Twin != 0 {
		f.integer(r.Twin)
	}
}

func (r *DeliveryRecord) fields(f *fields) {
	f.integer(r.Event)
	f.text(r.What)
	f.text(r.Reason)
	f.integer(r.Sends)
	f.who(r.Origin, r.By)
}

func (r *LossRecord) fields(f *fields) {
	f.integer(r.From)
	f.hash(r.Hash)
	f.integer(r.To)
	f.who(OriginOperator, r.By)
	f.text(r.Reason)
}
