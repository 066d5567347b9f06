package settle

import (
	"unicode"
	"unicode/utf8"
)

// Bounds of contract.md, Inputs.
const (
	MaxIntegerDigits = 15  // exact as a JSON number
	MaxNameBytes     = 256 // of a tenant, source or dedupe_key
	MaxWholeDigits   = 18  // of an amount, before the point
	MaxDecimals      = 8   // of an amount, after the point
)

// ParseInteger reads `0` or `[1-9][0-9]{0,14}` in ASCII digits and nothing else.
func ParseInteger(text []byte) (int64, bool) {
	if len(text) == 0 || len(text) > MaxIntegerDigits || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	n := int64(0)
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// ValidName reports whether text is a source or dedupe_key: 1 to 256 bytes of UTF-8 without control characters
// (Cc) and without leading or trailing white space (White_Space).
func ValidName(text []byte) bool {
	if len(text) == 0 || len(text) > MaxNameBytes {
		return false
	}
	for _, c := range text {
		if c < ' ' || c > '~' {
			return validUnicodeName(text)
		}
	}
	return text[0] != ' ' && text[len(text)-1] != ' '
}

// validUnicodeName is ValidName for any text within the bounds.
func validUnicodeName(text []byte) bool {
	if !utf8.Valid(text) {
		return false
	}
	first, _ := utf8.DecodeRune(text)
	last, _ := utf8.DecodeLastRune(text)
	if unicode.Is(unicode.White_Space, first) || unicode.Is(unicode.White_Space, last) {
		return false
	}
	for _, r := range string(text) {
		if unicode.Is(unicode.Cc, r) {
			return false
		}
	}
	return true
}

// ValidTenant is ValidName for a tenant, which in addition doesn't start with `#`.
func ValidTenant(text []byte) bool {
	return ValidName(text) && text[0] != '#'
}

// ParseScope reads `schema` or `wire`.
func ParseScope(text []byte) (Scope, bool) {
	switch string(text) {
	case "schema":
		return ScopeSchema, true
	case "wire":
		return ScopeWire, true
	}
	return ScopeNone, false
}

// ParseState reads `done` or `pending`.
func ParseState(text []byte) (State, bool) {
	switch string(text) {
	case "done":
		return StateDone, true
	case "pending":
		return StatePending, true
	}
	return StateDone, false
}
