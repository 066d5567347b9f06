package audit

import (
	"bytes"
	"cmp"
	"unicode/utf8"
)

// Reasons for a row to be left out, beside the name of its first failing column.
const (
	reasonLine    = "line"
	reasonColumns = "columns"
	reasonSeq     = "seq" // the one column before the names
)

// BadRow is a row that breaks a rule: malformed in events.tsv, skipped in dedupe.tsv.
type BadRow struct {
	Line   int64  // from 1, skipped lines counted
	Reason string // "line", "columns" or the first failing column
}

// event is a well-formed row of a registered key in 40 bytes.
type event struct {
	seen, seq, rank int64
	whole           uint64 // of the amount
	key             uint32
	packed          uint32 // parts of the amount (27 bits) << 4 | flags
}

const (
	flagScope     = 3 // the scope as stated
	flagPending   = 4
	flagBadAmount = 8
	flagBits      = 4
)

func (e *event) parts() uint32   { return e.packed >> flagBits }
func (e *event) scope() scope    { return scope(e.packed & flagScope) }
func (e *event) pending() bool   { return e.packed&flagPending != 0 }
func (e *event) badAmount() bool { return e.packed&flagBadAmount != 0 }

// batch is what one chunk of events.tsv comes to.
type batch struct {
	lines     int64
	events    []event  // of registered keys, in the order of the file
	strangers int64    // well-formed rows of keys that dedupe.tsv never registers
	malformed []BadRow // lines counted from the chunk's first
	waiting   []waiting
	warmed    byte // keeps keyTable.warm from being left out
}

// waiting is a row whose key isn't looked up yet.
type waiting struct {
	event  event
	line   int64
	reason string // the first rule that it breaks, the names' aside
	names  []byte // `tenant<TAB>source<TAB>dedupe_key`; none where the row has no columns
	hash   uint64 // of the names
}

const lookedUpAtOnce = 64 // enough to keep memory busy, few enough to stay in the first cache

// parse reads a chunk of whole lines into the batch.
func (b *batch) parse(chunk []byte, keys *keyTable) {
	b.lines, b.events, b.strangers, b.malformed = 0, b.events[:0], 0, b.malformed[:0]
	clean := utf8.Valid(chunk) // so are then all its lines
	for len(chunk) > 0 {
		var line []byte
		line, chunk = cutLine(chunk)
		b.lines++
		if len(line) > maxLine || (!clean && !utf8.Valid(line)) {
			b.waiting = append(b.waiting, waiting{line: b.lines, reason: reasonLine})
		} else if !skipped(line) {
			b.row(line)
		}
		if len(b.waiting) == lookedUpAtOnce || len(chunk) == 0 {
			b.lookUp(keys)
		}
	}
}

// row reads one row as far as it goes without its key.
func (b *batch) row(line []byte) {
	b.waiting = append(b.waiting, waiting{line: b.lines})
	w := &b.waiting[len(b.waiting)-1]
	var tabs [8]int
	at := 0
	for i := range tabs {
		tab := bytes.IndexByte(line[at:], '\t')
		if tab < 0 {
			w.reason = reasonColumns
			return
		}
		tabs[i] = at + tab
		at += tab + 1
	}
	if bytes.IndexByte(line[at:], '\t') >= 0 {
		w.reason = reasonColumns
		return
	}
	w.names = line[tabs[0]+1 : tabs[3]]
	stated, scopeOK := statedScope(line[tabs[3]+1 : tabs[4]])
	pending, stateOK := stateIsPending(line[tabs[6]+1 : tabs[7]])
	var seqOK, seenOK, rankOK bool
	w.event.seq, seqOK = integer(line[:tabs[0]])
	w.event.seen, seenOK = integer(line[tabs[4]+1 : tabs[5]])
	w.event.rank, rankOK = integer(line[tabs[7]+1:])
	switch {
	case !seqOK:
		w.reason = reasonSeq
	case !scopeOK && tabs[4] > tabs[3]+1:
		w.reason = "scope"
	case !seenOK:
		w.reason = "seen_at"
	case !stateOK:
		w.reason = "state"
	case !rankOK:
		w.reason = "lru_rank"
	}
	w.event.setAmount(line[tabs[5]+1:tabs[6]], stated, pending)
}

// lookUp finds the keys of the waiting rows and takes the rows in, in their order.
func (b *batch) lookUp(keys *keyTable) {
	for i := range b.waiting {
		b.waiting[i].hash = keys.hash(b.waiting[i].names)
	}
	for i := range b.waiting {
		b.warmed ^= keys.warm(b.waiting[i].hash)
	}
	for i := range b.waiting {
		w := &b.waiting[i]
		known := false
		if w.names != nil {
			w.event.key, known = keys.findHashed(w.hash, w.names)
			if !known && w.reason != reasonSeq { // a registered key's names are known to be good
				w.reason = cmp.Or(badName(keyParts(w.names)), w.reason)
			}
		}
		switch {
		case w.reason != "":
			b.malformed = append(b.malformed, BadRow{w.line, w.reason})
		case known:
			b.events = append(b.events, w.event)
		default:
			b.strangers++
		}
	}
	b.waiting = b.waiting[:0]
}

func (e *event) setAmount(text []byte, stated scope, pending bool) {
	whole, parts, ok := amount(text)
	e.whole, e.packed = whole, parts<<flagBits|uint32(stated)
	if pending {
		e.packed |= flagPending
	}
	if !ok {
		e.packed |= flagBadAmount
	}
}

func badName(tenant, source, dedupeKey []byte) (reason string) {
	switch {
	case !tenantName(tenant):
		return "tenant"
	case !name(source):
		return "source"
	case !name(dedupeKey):
		return "dedupe_key"
	}
	return ""
}
