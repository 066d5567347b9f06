package audit

import "unicode/utf8"

const (
	maxIntegerDigits  = 15 // exact as a JSON number
	maxNameBytes      = 256
	maxWholeDigits    = 18
	maxDecimals       = 8
	hundredMillionths = 100_000_000 // the finest unit of an amount is 10^-8
)

// integer reads `0` or `[1-9][0-9]{0,14}` in ASCII.
func integer(text []byte) (value int64, ok bool) {
	if len(text) == 0 || len(text) > maxIntegerDigits || (text[0] == '0' && len(text) > 1) {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		value = value*10 + int64(c-'0')
	}
	return value, true
}

// amount reads `(0|[1-9][0-9]{0,17})(\.[0-9]{1,8})?` in ASCII as whole units and 10^-8 parts of one.
func amount(text []byte) (whole uint64, parts uint32, ok bool) {
	i := 0
	for ; i < len(text) && i <= maxWholeDigits && isDigit(text[i]); i++ {
		whole = whole*10 + uint64(text[i]-'0')
	}
	if i == 0 || i > maxWholeDigits || (text[0] == '0' && i > 1) {
		return 0, 0, false
	}
	if i == len(text) {
		return whole, 0, true
	}
	decimals := text[i+1:]
	if text[i] != '.' || len(decimals) == 0 || len(decimals) > maxDecimals {
		return 0, 0, false
	}
	unit := uint32(hundredMillionths)
	for _, c := range decimals {
		if !isDigit(c) {
			return 0, 0, false
		}
		unit /= 10
		parts += uint32(c-'0') * unit
	}
	return whole, parts, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// name tells whether text is a source or dedupe_key: 1 to 256 bytes, no control character, no white space at
// either end. The line it comes from is known to be UTF-8.
func name(text []byte) bool {
	if len(text) == 0 || len(text) > maxNameBytes {
		return false
	}
	first, _ := utf8.DecodeRune(text)
	last, _ := utf8.DecodeLastRune(text)
	if whiteSpace(first) || whiteSpace(last) {
		return false
	}
	for i, c := range text {
		// The controls are U+0000–U+001F, U+007F and U+0080–U+009F, the last written C2 80 – C2 9F.
		if c < 0x20 || c == 0x7F || (c == 0xC2 && text[i+1] <= 0x9F) {
			return false
		}
	}
	return true
}

// tenantName is a name that can't be taken for a comment.
func tenantName(text []byte) bool { return name(text) && text[0] != '#' }

// whiteSpace is the Unicode property White_Space, spelled out; U+FEFF and U+200B aren't in it.
func whiteSpace(r rune) bool {
	switch {
	case r >= 0x0009 && r <= 0x000D, r == 0x0020, r == 0x0085, r == 0x00A0, r == 0x1680:
		return true
	case r >= 0x2000 && r <= 0x200A, r == 0x2028, r == 0x2029, r == 0x202F, r == 0x205F, r == 0x3000:
		return true
	}
	return false
}

// scope says how an event's place in time was known; the zero scope is an event's empty column.
type scope uint8

const (
	scopeStanding scope = iota // empty: the scope of the standing row
	scopeSchema
	scopeWire
)

// statedScope reads exactly `schema` or `wire`.
func statedScope(text []byte) (scope, bool) {
	switch string(text) {
	case "schema":
		return scopeSchema, true
	case "wire":
		return scopeWire, true
	}
	return scopeStanding, false
}

// stateIsPending reads exactly `done` or `pending`.
func stateIsPending(text []byte) (pending, ok bool) {
	switch string(text) {
	case "done":
		return false, true
	case "pending":
		return true, true
	}
	return false, false
}
