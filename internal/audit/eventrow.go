package audit

import (
	"bytes"
	"unicode/utf8"
)

// Reasons for a row to be left out, beside the name of its first failing column.
const (
	reasonLine    = "line"
	reasonColumns = "columns"
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
}

// parse reads a chunk of whole lines into the batch.
func (b *batch) parse(chunk []byte, keys *keyTable) {
	b.lines, b.events, b.strangers, b.malformed = 0, b.events[:0], 0, b.malformed[:0]
	clean := utf8.Valid(chunk) // so are then all its lines
	for len(chunk) > 0 {
		var line []byte
		line, chunk = cutLine(chunk)
		b.lines++
		if len(line) > maxLine || (!clean && !utf8.Valid(line)) {
			b.malformed = append(b.malformed, BadRow{b.lines, reasonLine})
		} else if !skipped(line) {
			if reason := b.row(line, keys); reason != "" {
				b.malformed = append(b.malformed, BadRow{b.lines, reason})
			}
		}
	}
}

// row takes one row in, or gives the first rule that it breaks, in the order of the columns.
func (b *batch) row(line []byte, keys *keyTable) (reason string) {
	var tabs [8]int
	at := 0
	for i := range tabs {
		tab := bytes.IndexByte(line[at:], '\t')
		if tab < 0 {
			return reasonColumns
		}
		tabs[i] = at + tab
		at += tab + 1
	}
	if bytes.IndexByte(line[at:], '\t') >= 0 {
		return reasonColumns
	}
	var e event
	var ok bool
	if e.seq, ok = integer(line[:tabs[0]]); !ok {
		return "seq"
	}
	key, known := keys.find(line[tabs[0]+1 : tabs[3]])
	if !known { // a registered key's names are known to be good
		if reason := badName(line[tabs[0]+1:tabs[1]], line[tabs[1]+1:tabs[2]], line[tabs[2]+1:tabs[3]]); reason != "" {
			return reason
		}
	}
	stated, ok := statedScope(line[tabs[3]+1 : tabs[4]])
	if !ok && tabs[4] > tabs[3]+1 {
		return "scope"
	}
	if e.seen, ok = integer(line[tabs[4]+1 : tabs[5]]); !ok {
		return "seen_at"
	}
	pending, ok := stateIsPending(line[tabs[6]+1 : tabs[7]])
	if !ok {
		return "state"
	}
	if e.rank, ok = integer(line[tabs[7]+1:]); !ok {
		return "lru_rank"
	}
	if !known {
		b.strangers++
		return ""
	}
	e.key = key
	e.setAmount(line[tabs[5]+1:tabs[6]], stated, pending)
	b.events = append(b.events, e)
	return ""
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
