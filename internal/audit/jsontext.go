package audit

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// appendString writes a string as RFC 8785 does: only the quote, the backslash and the controls below U+0020 escaped.
func appendString[T string | []byte](into []byte, text T) []byte {
	const hex = "0123456789abcdef"
	into = append(into, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			into = append(into, '\\', c)
		case c >= 0x20:
			into = append(into, c)
		default:
			if short := strings.IndexByte("\b\t\n\f\r", c); short >= 0 {
				into = append(into, '\\', "btnfr"[short])
			} else {
				into = append(into, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
		}
	}
	return append(into, '"')
}

func quoted(text string) []byte { return appendString(nil, text) }

// compareUTF16 is RFC 8785's order of member names: by UTF-16 code units, in which U+10000 and beyond stand before
// U+E000–U+FFFF.
func compareUTF16(a, b string) int {
	if a == b {
		return 0
	}
	return cmp.Or(slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))), cmp.Compare(a, b))
}

// appendNumber writes a number literal as RFC 8785 does, which is ECMAScript's shortest text of the double. A literal
// beyond all doubles has no such text and stays as it is.
func appendNumber(into []byte, literal []byte) []byte {
	value, err := strconv.ParseFloat(string(literal), 64)
	if err != nil || math.IsInf(value, 0) {
		return append(into, literal...)
	}
	if value == 0 {
		return append(into, '0')
	}
	if value < 0 {
		into, value = append(into, '-'), -value
	}
	mantissa, exponentText, _ := strings.Cut(strconv.FormatFloat(value, 'e', -1, 64), "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	exponent, _ := strconv.Atoi(exponentText)
	point := exponent + 1 // the value is 0.digits × 10^point
	switch {
	case point > 21 || point < -5:
		into = append(into, digits[0])
		if len(digits) > 1 {
			into = append(append(into, '.'), digits[1:]...)
		}
		into = append(into, 'e')
		if exponent > 0 {
			into = append(into, '+')
		}
		return strconv.AppendInt(into, int64(exponent), 10)
	case point <= 0:
		return append(append(append(into, "0."...), strings.Repeat("0", -point)...), digits...)
	case point >= len(digits):
		return append(append(into, digits...), strings.Repeat("0", point-len(digits))...)
	}
	return append(append(append(into, digits[:point]...), '.'), digits[point:]...)
}
