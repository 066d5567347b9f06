package audit

import (
	"errors"
	"fmt"
)

// fold judges the log anew, record by record, for a share of the keys: those whose id falls into its part. What is said of sources and
// policy is folded in every pass and told of in the first one only.
type fold struct {
	hash   hasher
	part   uint64 // of parts
	parts  uint64 // a power of two
	limit  int    // keys and outbox rows that may be held
	issues *issues

	policy   policy
	ruled    bool
	sources  []sourceState
	sourceAt map[string]uint32
	keys     *logKeys
	outbox   map[int64]outRow
	books    map[bookID]*logBook // of all passes
	strays   *numberSet          // delivery records that no pass has found the event of yet; nil where there is one pass
	owed     debt
	renewed  bool // a record names its origin: none of an older kind follows
	current  logRecord
	events   int64
	guarded  bool   // a source is, or was
	whole    bool   // ids are taken in
	ids      rowSet // that events are found by
	fact     []byte
}

// errTooMany says that a pass holds more than it may.
var errTooMany = errors.New("more keys than a pass may hold")

// sourceState is what stands for a source at the record being looked at.
type sourceState struct {
	tenant, source string
	known          bool // it has settings
	settings
	bodies   bodies // where it is guarded
	events   int64
	capacity int64 // the largest of its registered keys, in the end
}

// outRow is a row that the outbox must have.
type outRow struct {
	id      uint64 // word of the event's id
	reason  uint64 // word of the reason, where dead
	since   int64  // Unix ms of the record that let it wait
	key     uint32
	ordinal uint32
	dead    bool
	stated  bool // the store has it too
}

// debt is what the next record must be, by the record before.
type debt struct {
	what   debtKind
	number int64 // of the record that asks for it
	key    keyID // of the event that must follow
	event  int64 // that must be revived
}

type debtKind uint8

const (
	nothingOwed debtKind = iota
	eventOwed            // a key registered itself, for an event that must follow
	revivalOwed          // a repeat of a dead letter puts it back into the outbox
)

func (f *fold) mine(id keyID) bool { return id[0]>>8&(f.parts-1) == f.part }

func (f *fold) firstPass() bool { return f.part == 0 }

// take folds one record in. The first pass reads it whole, the others only where it is theirs.
func (f *fold) take(raw []byte) error {
	r, rec := fieldReader{text: raw}, &f.current
	rec.readHead(&r)
	rec.readName(&r)
	if r.fault == "" && rec.raw != nil && !f.firstPass() && !f.mine(f.hash.key(rec.raw)) {
		if f.settle(rec, keyID{}); rec.kind == kindEvent && f.guarded {
			if rec.readRest(&r); r.fault == "" {
				f.takeBody(rec)
			}
		}
		return nil
	}
	rec.readRest(&r)
	if r.fault != "" {
		if f.firstPass() {
			f.issues.record(rec.number, "not a record: %s", r.fault)
		}
		f.owed = debt{}
		return nil
	}
	f.checkAge(rec)
	switch rec.kind {
	case kindPolicy:
		f.takePolicy(rec)
	case kindLoss:
		f.takeLoss(rec)
	case kindSource:
		f.takeSource(rec)
	case kindDelivery:
		f.takeDelivery(rec)
	default:
		return f.takeKeyed(rec)
	}
	return nil
}

// checkAge: who writes records that name their origin writes no others.
func (f *fold) checkAge(rec *logRecord) {
	if rec.old && f.renewed && f.firstPass() {
		f.issues.record(rec.number, "it doesn't say what it was by, as records before it do")
	}
	f.renewed = f.renewed || rec.origin != ""
}

// settle looks whether the record is what the one before owes.
func (f *fold) settle(rec *logRecord, id keyID) {
	owed := f.owed
	f.owed = debt{}
	switch owed.what {
	case eventOwed:
		if rec.kind != kindEvent || id != owed.key || rec.number != owed.number+1 {
			f.issues.record(owed.number, "a key registers itself, but its event doesn't follow")
		}
	case revivalOwed:
		if rec.kind != kindDelivery || rec.sent.what != wasRevived || rec.sent.event != owed.event || !rec.byRepeat() || rec.number != owed.number+1 {
			f.issues.record(owed.number, "it repeats event %d, a dead letter, but no record revives that", owed.event)
		}
	}
}

// byRepeat tells whether the record may be by a repeat from the upstream. In an older one somebody of that name may have been meant.
func (rec *logRecord) byRepeat() bool {
	return rec.origin == byDuplicate || rec.old && string(rec.by) == byDuplicate
}

// takeLoss looks at what a person accepted. The books are what the records say, before and after.
func (f *fold) takeLoss(rec *logRecord) {
	f.settle(rec, keyID{})
	if l := &rec.loss; f.firstPass() && (l.to < 0 || l.to >= rec.number || l.from <= l.to) {
		f.issues.record(rec.number, "a log that was known up to %d can't have ended with %d before it", l.from, l.to)
	}
}

func (f *fold) takePolicy(rec *logRecord) {
	f.settle(rec, keyID{})
	if f.firstPass() && rec.number != 1 {
		f.issues.record(rec.number, "a policy is the first record of a log, and fixed")
	}
	if !f.ruled {
		f.policy, f.ruled = rec.policy, true
	}
}

func (f *fold) takeSource(rec *logRecord) {
	f.settle(rec, keyID{})
	r := &rec.source
	s := &f.sources[f.sourceOf(r.raw)]
	if f.firstPass() {
		switch {
		case !soundName(s.tenant, s.source, "-"):
			f.issues.record(rec.number, "the source %q of %q isn't named as the contract wants", s.source, s.tenant)
		case (r.settings.guard == guardOff) != (r.settings.guardWindow == 0):
			f.issues.record(rec.number, "a guard has a window")
		case s.known && s.settings == r.settings:
			f.issues.record(rec.number, "it changes nothing")
		case s.events > 0 && s.parts != r.settings.parts:
			f.issues.record(rec.number, "a source with events keeps the number of parts of its keys: %d, not %d", s.parts, r.settings.parts)
		}
	}
	if r.settings.guard != s.guard || r.settings.guardWindow != s.guardWindow {
		s.bodies = bodies{}
	}
	s.settings, s.known = r.settings, true
	f.guarded = f.guarded || s.guard != guardOff
}

// sourceOf numbers sources, by the bytes of both fields, in the order in which they come.
func (f *fold) sourceOf(raw []byte) uint32 {
	if n, ok := f.sourceAt[string(raw)]; ok {
		return n
	}
	n := uint32(len(f.sources))
	f.sourceAt[string(raw)] = n
	r := fieldReader{text: raw}
	f.sources = append(f.sources, sourceState{tenant: string(r.next()), source: string(r.next())})
	return n
}

// takeKeyed folds in what is about a key by name.
func (f *fold) takeKeyed(rec *logRecord) error {
	id := f.hash.key(rec.raw)
	if f.firstPass() && rec.kind == kindEvent {
		f.countEvent(rec)
	}
	if !f.mine(id) {
		if f.settle(rec, id); rec.kind == kindEvent && f.guarded {
			f.takeBody(rec)
		}
		return nil
	}
	key, known := f.keys.find(id)
	if !known {
		r := fieldReader{text: rec.raw}
		source := f.sourceOf(r.pair())
		if at := &f.sources[source]; !soundName(at.tenant, at.source, string(r.next())) {
			f.issues.record(rec.number, "its key isn't named as the contract wants")
		}
		if f.overfull() {
			return errTooMany
		}
		key = f.keys.add(logKey{id: id, source: source})
	}
	f.settle(rec, id)
	switch rec.kind {
	case kindRegister:
		f.takeRegister(rec, key)
	case kindUnregister:
		f.takeUnregister(rec, f.keys.at(key))
	case kindEvent:
		return f.takeEvent(rec, key)
	}
	return nil
}

// overfull tells whether a pass holds as much as it may. One key can't be shared out.
func (f *fold) overfull() bool { return int(f.keys.total)+len(f.outbox) >= f.limit && f.keys.total > 1 }

// countEvent counts an event at its source, whosever key it is.
func (f *fold) countEvent(rec *logRecord) {
	r := fieldReader{text: rec.raw}
	f.sources[f.sourceOf(r.pair())].events++
	f.events++
	if f.whole {
		f.fact = appendID(f.fact[:0], rec.event.id, rec.number)
		f.ids.add(&f.hash, f.fact, 1)
	}
}

func (f *fold) takeRegister(rec *logRecord, key uint32) {
	k, r := f.keys.at(key), &rec.reg
	same := k.has(isRegistered) && k.scope == r.scope && k.window == r.window && k.capacity == r.capacity
	own := rec.origin == byOpen // an older record by "open" may be by somebody of that name: nothing follows from it
	s := &f.sources[k.source]
	switch {
	case r.scope == scopeStanding:
		f.issues.record(rec.number, "a registration names its scope")
	case same:
		f.issues.record(rec.number, "it changes nothing")
	case own && (!s.known || !s.open || k.has(isRegistered) || r.scope != s.scope || r.window != 0 || r.capacity != s.settings.capacity):
		f.issues.record(rec.number, "a key registers itself at an open source only, where it isn't registered, by what stands for the source")
	}
	if own {
		f.owed = debt{what: eventOwed, number: rec.number, key: k.id}
	}
	k.set(isRegistered, true)
	k.scope, k.window, k.capacity, k.since = r.scope, r.window, r.capacity, rec.number
}

func (f *fold) takeUnregister(rec *logRecord, k *logKey) {
	switch {
	case !k.has(isRegistered):
		f.issues.record(rec.number, "the key isn't registered")
	case k.events > 0:
		f.issues.record(rec.number, "the key has an event: its registration stays")
	}
	k.set(isRegistered, false)
	k.scope, k.window, k.capacity, k.since = scopeStanding, 0, 0, 0
}

// takeDelivery folds in what became of a forwarding.
func (f *fold) takeDelivery(rec *logRecord) {
	revives := f.owed.what == revivalOwed
	f.settle(rec, keyID{})
	row, known := f.outbox[rec.sent.event]
	if !known {
		f.stray(rec)
		return
	}
	if f.strays != nil {
		f.strays.remove(rec.number)
	}
	d := &rec.sent
	wantDead := d.what == wasDiscarded || d.what == wasRevived
	switch {
	case row.dead && !wantDead:
		f.issues.record(rec.number, "event %d is a dead letter, it can't be %s", d.event, d.what)
	case !row.dead && wantDead:
		f.issues.record(rec.number, "event %d is no dead letter, it can't be %s", d.event, d.what)
	case rec.origin == byDuplicate && !revives:
		f.issues.record(rec.number, "no repeat of event %d asks for this", d.event)
	case d.what == wasDelivered && d.sends < 1:
		f.issues.record(rec.number, "event %d was delivered without being sent", d.event)
	}
	k := f.keys.at(row.key)
	if !row.dead {
		k.waiting--
	}
	switch d.what {
	case wasDelivered, wasDiscarded:
		if d.what == wasDelivered && k.root == d.event {
			k.set(rootDelivered, true)
		}
		delete(f.outbox, d.event)
		return
	case wasRevived:
		k.waiting++
		row.since = rec.at
	case hasDied:
		row.reason = f.hash.word(d.reason)
	}
	row.dead = d.what == hasDied
	f.outbox[d.event] = row
}

// stray keeps a delivery whose event isn't in the outbox of this pass: with one pass it is in none.
func (f *fold) stray(rec *logRecord) {
	switch {
	case f.strays == nil:
		f.issues.record(rec.number, strayText, rec.sent.event)
	case f.firstPass():
		f.strays.add(rec.number)
	}
}

const strayText = "event %d isn't in the outbox"

// numberSet is a set of record numbers, a bit each.
type numberSet struct{ bits []uint64 }

func (s *numberSet) add(n int64) {
	for int64(len(s.bits)) <= n/64 {
		s.bits = append(s.bits, 0)
	}
	s.bits[n/64] |= 1 << (n % 64)
}

func (s *numberSet) remove(n int64) {
	if n/64 < int64(len(s.bits)) {
		s.bits[n/64] &^= 1 << (n % 64)
	}
}

func (s *numberSet) each(yield func(n int64)) {
	for i, word := range s.bits {
		for bit := range 64 {
			if word>>bit&1 == 1 {
				yield(int64(i)*64 + int64(bit))
			}
		}
	}
}

// errMany is what a proof can't count.
func errMany(number int64) error {
	return fmt.Errorf("record %d: a key with more than %d events can't be proved", number, uint32(maxOfKey))
}
