package audit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// maxDepth bounds the nesting of what is taken for JSON (RFC 8259, section 9, allows a bound): without one a hostile
// report could exhaust the stack, which ends a Go process with status 2. A report nests three deep.
const maxDepth = 1_000

var errNotReport = errors.New("not exactly one JSON object")

// member is a member of an object: its name, where its value stands in the source, and the value's text.
type member struct {
	name     string
	from, to int // in the source
	text     []byte
}

// jsonReader reads JSON strictly (one document, no member twice, UTF-8 throughout, no half of a surrogate pair) and
// writes it as it goes: members sorted, no white space, strings as RFC 8785 has them. Number literals stay as they are,
// so that 5.0 isn't 5, or get their RFC 8785 text where `shorten` asks for it.
type jsonReader struct {
	src     []byte
	at      int
	depth   int
	shorten bool
}

// readObject reads a document that is one object and gives its members in the order of their names.
func readObject(document []byte) ([]member, error) {
	if !utf8.Valid(document) {
		return nil, errors.New("not UTF-8")
	}
	r := &jsonReader{src: document}
	if r.peek() != '{' {
		return nil, errNotReport
	}
	members, err := r.members()
	if err != nil {
		return nil, err
	}
	if r.peek(); r.at != len(r.src) {
		return nil, errNotReport
	}
	return members, nil
}

// canonical is the RFC 8785 text of a value that was read before.
func canonical(value []byte) []byte {
	r := &jsonReader{src: value, shorten: true}
	text, err := r.value(nil)
	if err != nil { // it was read before
		panic(fmt.Sprintf("JSON value read once but not twice: %v", err))
	}
	return text
}

// peek skips white space and gives the next byte, 0 at the end.
func (r *jsonReader) peek() byte {
	for ; r.at < len(r.src); r.at++ {
		switch c := r.src[r.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (r *jsonReader) syntax() error { return fmt.Errorf("%w: byte %d", errNotReport, r.at) }

// expect takes one byte of punctuation.
func (r *jsonReader) expect(c byte) error {
	if r.peek() != c {
		return r.syntax()
	}
	r.at++
	return nil
}

func (r *jsonReader) value(into []byte) ([]byte, error) {
	switch c := r.peek(); {
	case c == '{':
		members, err := r.members()
		return appendMembers(into, members), err
	case c == '[':
		return r.array(into)
	case c == '"':
		text, err := r.string()
		return appendString(into, text), err
	case c == '-' || isDigit(c):
		return r.number(into)
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(r.src[r.at:], []byte(word)) {
			r.at += len(word)
			return append(into, word...), nil
		}
	}
	return into, r.syntax()
}

func (r *jsonReader) deeper() error {
	if r.depth++; r.depth > maxDepth {
		return fmt.Errorf("nested more than %d deep", maxDepth)
	}
	return nil
}

// members reads an object.
func (r *jsonReader) members() ([]member, error) {
	if err := r.deeper(); err != nil {
		return nil, err
	}
	r.at++
	var all []member
	for more := r.peek() != '}'; more; {
		if r.peek() != '"' {
			return nil, r.syntax()
		}
		name, err := r.string()
		if err != nil {
			return nil, err
		}
		if err := r.expect(':'); err != nil {
			return nil, err
		}
		m := member{name: name}
		r.peek()
		m.from = r.at
		if m.text, err = r.value(nil); err != nil {
			return nil, err
		}
		m.to = r.at
		all = append(all, m)
		if more = r.peek() == ','; more {
			r.at++
		}
	}
	slices.SortFunc(all, func(a, b member) int { return compareUTF16(a.name, b.name) })
	for i := 1; i < len(all); i++ {
		if all[i-1].name == all[i].name {
			return nil, fmt.Errorf("member %q twice", all[i].name)
		}
	}
	r.depth--
	return all, r.expect('}')
}

func appendMembers(into []byte, members []member) []byte {
	into = append(into, '{')
	for i, m := range members {
		if i > 0 {
			into = append(into, ',')
		}
		into = append(append(appendString(into, m.name), ':'), m.text...)
	}
	return append(into, '}')
}

func (r *jsonReader) array(into []byte) (_ []byte, err error) {
	if err := r.deeper(); err != nil {
		return nil, err
	}
	r.at++
	into = append(into, '[')
	for more := r.peek() != ']'; more; {
		if into, err = r.value(into); err != nil {
			return nil, err
		}
		if more = r.peek() == ','; more {
			r.at++
			into = append(into, ',')
		}
	}
	r.depth--
	return append(into, ']'), r.expect(']')
}
