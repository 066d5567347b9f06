package audit

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// number takes -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (r *jsonReader) number(into []byte) ([]byte, error) {
	start := r.at
	if r.src[r.at] == '-' {
		r.at++
	}
	if !r.digits(r.at < len(r.src) && r.src[r.at] == '0') {
		return nil, r.syntax()
	}
	if r.at < len(r.src) && r.src[r.at] == '.' {
		if r.at++; !r.digits(false) {
			return nil, r.syntax()
		}
	}
	if r.at < len(r.src) && r.src[r.at]|0x20 == 'e' {
		if r.at++; r.at < len(r.src) && (r.src[r.at] == '+' || r.src[r.at] == '-') {
			r.at++
		}
		if !r.digits(false) {
			return nil, r.syntax()
		}
	}
	if r.shorten {
		return appendNumber(into, r.src[start:r.at]), nil
	}
	return append(into, r.src[start:r.at]...), nil
}

// digits takes one digit or more, or only one.
func (r *jsonReader) digits(one bool) bool {
	start := r.at
	for r.at < len(r.src) && isDigit(r.src[r.at]) && (!one || r.at == start) {
		r.at++
	}
	return r.at > start
}

// string reads a string to its text.
func (r *jsonReader) string() (string, error) {
	r.at++
	start := r.at
	for r.at < len(r.src) && r.src[r.at] != '"' && r.src[r.at] != '\\' && r.src[r.at] >= 0x20 {
		r.at++
	}
	text := r.src[start:r.at:r.at]
	for r.at < len(r.src) {
		c := r.src[r.at]
		r.at++
		switch {
		case c == '"':
			return string(text), nil
		case c == '\\':
			char, ok := r.escape()
			if !ok {
				return "", r.syntax()
			}
			text = utf8.AppendRune(text, char)
		case c < 0x20:
			return "", r.syntax()
		default:
			text = append(text, c)
		}
	}
	return "", r.syntax()
}

// escape reads what follows a backslash.
func (r *jsonReader) escape() (rune, bool) {
	if r.at >= len(r.src) {
		return 0, false
	}
	c := r.src[r.at]
	r.at++
	if short := bytes.IndexByte([]byte(`"\/bfnrt`), c); short >= 0 {
		return rune("\"\\/\b\f\n\r\t"[short]), true
	}
	if c != 'u' {
		return 0, false
	}
	char, ok := r.hex4()
	if !ok || !utf16.IsSurrogate(char) {
		return char, ok
	}
	if !bytes.HasPrefix(r.src[r.at:], []byte(`\u`)) {
		return 0, false // half a pair is no character: no UTF-8 text holds it
	}
	r.at += 2
	low, ok := r.hex4()
	char = utf16.DecodeRune(char, low)
	return char, ok && char != utf8.RuneError
}

func (r *jsonReader) hex4() (rune, bool) {
	if r.at+4 > len(r.src) {
		return 0, false
	}
	// ParseUint would take a sign nowhere and underscores only in base 0, so four hex digits it is.
	value, err := strconv.ParseUint(string(r.src[r.at:r.at+4]), 16, 16)
	r.at += 4
	return rune(value), err == nil
}
