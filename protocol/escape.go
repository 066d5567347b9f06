package protocol

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string whose opening quote is next. Without escapes, the usual case, it is a part of the document and
// nothing is allocated.
func (p *scanner) str() string {
	s, i := p.s, p.i+1
	from := i
	for i < len(s) {
		switch c := s[i]; {
		case c == '"':
			p.i = i + 1
			return s[from:i]
		case c == '\\':
			p.i = i
			return p.escaped(from)
		case c < 0x20:
			p.i = i
			p.fail("a control character in a string")
			return ""
		}
		i++
	}
	p.i = i
	p.fail("a string doesn't end")
	return ""
}

// escaped reads on from the first backslash of a string that began at from.
func (p *scanner) escaped(from int) string {
	var b strings.Builder
	b.WriteString(p.s[from:p.i])
	for p.fault == "" && p.i < len(p.s) {
		run := p.i
		for p.i < len(p.s) && p.s[p.i] != '"' && p.s[p.i] != '\\' && p.s[p.i] >= 0x20 {
			p.i++
		}
		b.WriteString(p.s[run:p.i])
		if p.i == len(p.s) {
			break
		}
		switch p.s[p.i] {
		case '"':
			p.i++
			return b.String()
		case '\\':
			b.WriteRune(p.escape())
		default:
			p.fail("a control character in a string")
		}
	}
	p.fail("a string doesn't end")
	return ""
}

// escape reads one escape, a pair of surrogates as one.
func (p *scanner) escape() rune {
	if p.i+1 >= len(p.s) {
		p.fail("a string doesn't end")
		return 0
	}
	c := p.s[p.i+1]
	if c != 'u' {
		at := strings.IndexByte(`"\/bfnrt`, c)
		if at < 0 {
			p.fail("an unknown escape in a string")
			return 0
		}
		p.i += 2
		return rune("\"\\/\b\f\n\r\t"[at])
	}
	r := p.unit()
	if !utf16.IsSurrogate(r) {
		return r
	}
	at := p.i
	if p.i+1 < len(p.s) && p.s[p.i] == '\\' && p.s[p.i+1] == 'u' {
		if pair := utf16.DecodeRune(r, p.unit()); pair != utf8.RuneError {
			return pair
		}
	}
	if p.fault == "" {
		p.i = at
		p.fail("a lone surrogate in a string")
	}
	return 0
}

// unit reads \uXXXX.
func (p *scanner) unit() rune {
	var r rune
	if p.i+6 > len(p.s) {
		p.fail("an escape doesn't end")
		return 0
	}
	for _, c := range []byte(p.s[p.i+2 : p.i+6]) {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			p.fail("an escape isn't four hex digits")
			return 0
		}
		r = r<<4 | rune(c)
	}
	p.i += 6
	return r
}

const hexDigits = "0123456789abcdef"

// appendString writes s as a JSON string in the form of RFC 8785, 3.2.2.2: only what must be escaped is.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}
