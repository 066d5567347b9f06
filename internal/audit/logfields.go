package audit

import (
	"encoding/binary"
	"unicode/utf8"
)

// fieldReader takes the length-prefixed fields of a record (docs/log.md) off the front of its bytes. After a fault all further fields are
// empty and the first fault stands.
type fieldReader struct {
	text  []byte
	at    int
	fault string
}

func (r *fieldReader) fail(fault string) {
	if r.fault == "" {
		r.fault = fault
	}
	r.at = len(r.text)
}

func (r *fieldReader) next() []byte {
	if r.at < len(r.text) {
		if n := int(r.text[r.at]); n < 0x80 && n <= len(r.text)-r.at-1 { // nearly every field
			from := r.at + 1
			r.at = from + n
			return r.text[from:r.at]
		}
	}
	return r.long()
}

// long reads a field of 128 bytes and more, whose length takes two bytes or more and must take no more than needed.
func (r *fieldReader) long() []byte {
	n, width := binary.Uvarint(r.text[r.at:])
	if width < 2 || n>>(7*(width-1)) == 0 || n > uint64(len(r.text)-r.at-width) {
		r.fail("a field is cut off, or its length isn't as short as it can be")
		return nil
	}
	from := r.at + width
	r.at = from + int(n)
	return r.text[from:r.at]
}

// integer reads 8 bytes, big-endian, two's complement.
func (r *fieldReader) integer() int64 {
	f := r.next()
	if len(f) != 8 {
		r.fail("an integer isn't 8 bytes")
		return 0
	}
	return int64(binary.BigEndian.Uint64(f))
}

// count reads an integer that can't be negative, and where it may be written into a contract file has at most 15 digits.
func (r *fieldReader) count() int64 {
	n := r.integer()
	if n < 0 || n >= integerBound {
		r.fail("an integer is out of the contract's range")
		return 0
	}
	return n
}

const integerBound = 1_000_000_000_000_000 // 15 digits

func (r *fieldReader) flag() bool {
	n := r.integer()
	if n != 0 && n != 1 {
		r.fail("a flag is neither 0 nor 1")
	}
	return n == 1
}

func (r *fieldReader) hash() (h [32]byte) {
	f := r.next()
	if len(f) != len(h) {
		r.fail("a hash isn't 32 bytes")
		return h
	}
	return [32]byte(f)
}

// name passes over tenant, source and key and gives the bytes of all three fields as they lie: no two keys share them.
func (r *fieldReader) name() (raw []byte) {
	from := r.at
	r.next()
	r.next()
	r.next()
	return r.text[from:r.at]
}

// pair passes over tenant and source and gives the bytes of both fields as they lie.
func (r *fieldReader) pair() (raw []byte) {
	from := r.at
	r.next()
	r.next()
	return r.text[from:r.at]
}

// scopeOrNone reads `schema`, `wire` or nothing.
func (r *fieldReader) scopeOrNone() scope {
	f := r.next()
	if len(f) == 0 {
		return scopeStanding
	}
	s, ok := statedScope(f)
	if !ok {
		r.fail("a scope is neither schema nor wire")
	}
	return s
}

func (r *fieldReader) pending() bool {
	p, ok := stateIsPending(r.next())
	if !ok {
		r.fail("a state is neither done nor pending")
	}
	return p
}

// guard reads how a source is guarded, which of such a record it is.
func (r *fieldReader) guard() guard {
	f := r.next()
	for g, word := range guardWords {
		if string(f) == word && g > 0 {
			return guard(g)
		}
	}
	r.fail("a guard is none")
	return guardOff
}

func (r *fieldReader) decision() decision {
	f := r.next()
	for d, name := range decisionWords {
		if string(f) == name {
			return decision(d)
		}
	}
	r.fail("a decision is none")
	return 0
}

// decision is what became of an event.
type decision uint8

const (
	acceptEvent decision = iota
	duplicateDone
	duplicatePending
	mismatchEvent
	badAmount
	unknownKey
)

var decisionWords = [...]string{"accept", "duplicate_done", "duplicate_pending", "mismatch", "bad_amount", "unknown_key"}

func (d decision) String() string { return decisionWords[d] }

// entersHistory tells whether later events of the key are measured against this one.
func (d decision) entersHistory() bool { return d <= duplicatePending }

func (d decision) repeats() bool { return d == duplicateDone || d == duplicatePending }

// soundName tells whether the three parts are names by the contract.
func soundName(tenant, source, key string) bool {
	for _, part := range [...]string{tenant, source, key} {
		if !utf8.ValidString(part) || !name([]byte(part)) {
			return false
		}
	}
	return tenantName([]byte(tenant))
}

// appendName makes the raw form of a key's name, and appendPair of a source's.
func appendName(into []byte, tenant, source, key string) []byte {
	return appendField(appendPair(into, tenant, source), key)
}

func appendPair(into []byte, tenant, source string) []byte {
	return appendField(appendField(into, tenant), source)
}

func appendField(into []byte, text string) []byte {
	return append(binary.AppendUvarint(into, uint64(len(text))), text...)
}
