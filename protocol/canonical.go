package protocol

import (
	"slices"
	"unicode/utf8"
)

// Canonical appends the RFC 8785 form of one JSON document to dst. Two documents of equal content have one form,
// and the form of a form is itself.
//
// It refuses what different readers would read differently (docs/spec/protocol.md, Words, fingerprint): a member twice
// in one object, invalid UTF-8, a lone surrogate, an integer past ±(2^53 − 1), a number out of a double's range, more than
// one document, more than MaxDepth levels. The error is a *Problem with bad_request; dst is then returned as it came.
func Canonical(dst, document []byte) ([]byte, error) {
	p := scanner{s: string(document)}
	out := p.canon(dst, 0)
	p.end()
	if !utf8.ValidString(p.s) {
		return dst, &Problem{Code: BadRequest, Message: faultUTF8}
	}
	if p.failed() {
		return dst, p.problem()
	}
	return out, nil
}

// canon reads one value and appends its canonical form. depth counts the containers around it.
func (p *scanner) canon(dst []byte, depth int) []byte {
	c := p.peek()
	switch {
	case c == '"':
		from := p.i
		s := p.str()
		if len(s) == p.i-from-2 { // no escapes: it is written as it was read
			return append(dst, p.s[from:p.i]...)
		}
		return appendString(dst, s)
	case c == '{' || c == '[':
		if depth == MaxDepth {
			p.fail("more than %d levels", MaxDepth)
			return dst
		}
		p.i++
		if c == '{' {
			return p.canonObject(dst, depth+1)
		}
		return p.canonArray(dst, depth+1)
	case c == '-' || isDigit(c):
		return p.canonNumber(dst)
	}
	from := p.i
	switch c {
	case 't':
		p.literal("true")
	case 'f':
		p.literal("false")
	case 'n':
		p.literal("null")
	default:
		p.unexpected("a value")
	}
	return append(dst, p.s[from:p.i]...)
}

func (p *scanner) canonArray(dst []byte, depth int) []byte {
	dst = append(dst, '[')
	for n := 0; p.next(']', n); n++ {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = p.canon(dst, depth)
	}
	return append(dst, ']')
}

// member is one of an object: its name, and where it stands in the output.
type member struct {
	name     string
	from, to int
}

// canonObject writes members as they come and puts them in order afterwards where they weren't, which is rare:
// whatever went through here once is in order already.
func (p *scanner) canonObject(dst []byte, depth int) []byte {
	dst = append(dst, '{')
	var few [8]member
	members, sorted, start := few[:0], true, len(dst)
	for p.next('}', len(members)) {
		if len(members) > 0 {
			dst = append(dst, ',')
		}
		m := member{name: p.name(), from: len(dst)}
		dst = append(appendString(dst, m.name), ':')
		dst = p.canon(dst, depth)
		m.to = len(dst)
		if last := len(members) - 1; last >= 0 && compareUTF16(members[last].name, m.name) >= 0 {
			sorted = false
		}
		members = append(members, m)
	}
	if !sorted && !p.failed() {
		p.sortMembers(dst, start, members)
	}
	return append(dst, '}')
}

// sortMembers puts the members written to dst from start into order, and finds those that stand twice.
func (p *scanner) sortMembers(dst []byte, start int, members []member) {
	slices.SortFunc(members, func(a, b member) int { return compareUTF16(a.name, b.name) })
	written := slices.Clone(dst[start:])
	at := start
	for i, m := range members {
		if i > 0 {
			if members[i-1].name == m.name {
				p.fail("member %.64q stands twice", m.name)
				return
			}
			dst[at] = ','
			at++
		}
		at += copy(dst[at:], written[m.from-start:m.to-start])
	}
}

// compareUTF16 orders names by their UTF-16 code units (RFC 8785, 3.2.3). That is the order of the bytes of their
// UTF-8, but for characters past U+FFFF, whose first unit comes before U+E000.
func compareUTF16(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	if i == n {
		return len(a) - len(b)
	}
	for i > 0 && !utf8.RuneStart(a[i]) {
		i--
	}
	x, _ := utf8.DecodeRuneInString(a[i:])
	y, _ := utf8.DecodeRuneInString(b[i:])
	if (x > 0xFFFF) == (y > 0xFFFF) {
		return int(x) - int(y)
	}
	if x > 0xFFFF {
		return 0xD800 - int(y)
	}
	return int(x) - 0xD800
}
