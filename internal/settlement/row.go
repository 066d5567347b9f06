package settlement

import (
	"bytes"
	"unicode/utf8"

	"hapax/internal/settle"
)

// lineKind is what a line is before its columns are looked at.
type lineKind uint8

const (
	lineRow     lineKind = iota
	lineSkipped          // blank or a comment
	lineBroken           // too long or not UTF-8: breaks every rule, comment or not
)

func kindOf(line []byte) lineKind {
	switch {
	case len(line) > maxLineBytes || !utf8.Valid(line):
		return lineBroken
	case len(bytes.Trim(line, " \t")) == 0 || line[0] == '#':
		return lineSkipped
	}
	return lineRow
}

// columns splits a row at its tabs into at most len(into) columns and returns how many there are in all.
func columns(row []byte, into [][]byte) int {
	n := 0
	for {
		end := bytes.IndexByte(row, '\t')
		column := row
		if end >= 0 {
			column = row[:end]
		}
		if n < len(into) {
			into[n] = column
		}
		n++
		if end < 0 {
			return n
		}
		row = row[end+1:]
	}
}

// reason says why a row is broken: `line`, `columns`, or the name of its first failing column. The zero value is a
// row that isn't.
type reason uint8

const (
	good reason = iota
	badLine
	badColumns
	badSeq
	badTenant
	badSource
	badKey
	badScope
	badSeenAt
	badState
	badRank
	badWindow
	badCapacity
	badSince
)

var reasonTexts = [...]string{"", "line", "columns", "seq", "tenant", "source", "dedupe_key", "scope", "seen_at",
	"state", "lru_rank", "window_s", "lru_capacity", "since"}

func (r reason) String() string { return reasonTexts[r] }

// fields is a row being read: it remembers the first column that breaks its rule.
type fields struct {
	failed reason
}

func (f *fields) require(ok bool, otherwise reason) {
	if !ok && f.failed == good {
		f.failed = otherwise
	}
}

func (f *fields) integer(text []byte, otherwise reason) int64 {
	n, ok := settle.ParseInteger(text)
	f.require(ok, otherwise)
	return n
}

// names checks the three columns of a key and returns them as they stand in the row.
func (f *fields) names(tenant, source, key []byte) keyName {
	f.require(settle.ValidTenant(tenant), badTenant)
	f.require(settle.ValidName(source), badSource)
	f.require(settle.ValidName(key), badKey)
	return keyName{tenant: tenant, source: source, key: key}
}

func (f *fields) scope(text []byte) settle.Scope {
	scope, ok := settle.ParseScope(text)
	f.require(ok, badScope)
	return scope
}

func (f *fields) scopeOrNone(text []byte) settle.Scope {
	if len(text) == 0 {
		return settle.ScopeNone
	}
	return f.scope(text)
}

func (f *fields) state(text []byte) settle.State {
	state, ok := settle.ParseState(text)
	f.require(ok, badState)
	return state
}

// keyName is a key as it stands in a row: slices of the row's bytes.
type keyName struct {
	tenant, source, key []byte
}

// pair is `tenant TAB source`: the two are neighbours in the row.
func (n keyName) pair() []byte { return n.tenant[:len(n.tenant)+1+len(n.source)] }

// registryRow reads a row of dedupe.tsv.
func registryRow(row []byte) (keyName, settle.Registration, reason) {
	var c [7][]byte
	n := columns(row, c[:])
	if n != 6 && n != 7 {
		return keyName{}, settle.Registration{}, badColumns
	}
	var f fields
	name := f.names(c[0], c[1], c[2])
	registration := settle.Registration{
		Scope:       f.scope(c[3]),
		WindowS:     f.integer(c[4], badWindow),
		LRUCapacity: f.integer(c[5], badCapacity),
	}
	if n == 7 {
		registration.Since = f.integer(c[6], badSince)
	}
	return name, registration, f.failed
}

// eventRow reads a row of events.tsv. An amount that is none doesn't break it.
func eventRow(row []byte) (keyName, settle.Event, reason) {
	var c [9][]byte
	if columns(row, c[:]) != len(c) {
		return keyName{}, settle.Event{}, badColumns
	}
	var f fields
	var e settle.Event
	e.Seq = f.integer(c[0], badSeq)
	name := f.names(c[1], c[2], c[3])
	e.Scope = f.scopeOrNone(c[4])
	e.SeenAt = f.integer(c[5], badSeenAt)
	e.Amount, e.AmountOK = settle.ParseAmount(c[6])
	e.State = f.state(c[7])
	e.LRURank = f.integer(c[8], badRank)
	return name, e, f.failed
}

// openingRow reads a row of opening.tsv.
func openingRow(row []byte) (keyName, settle.Predecessor, reason) {
	var c [6][]byte
	if columns(row, c[:]) != len(c) {
		return keyName{}, settle.Predecessor{}, badColumns
	}
	var f fields
	name := f.names(c[0], c[1], c[2])
	p := settle.Predecessor{
		Scope:  f.scope(c[3]),
		SeenAt: f.integer(c[4], badSeenAt),
		State:  f.state(c[5]),
	}
	return name, p, f.failed
}
