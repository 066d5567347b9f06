package protocol

import (
	"iter"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Document is one JSON document of any sender, read as strictly as a frame: one document of valid UTF-8, no member twice, no lone
// surrogate, at most MaxDepth levels. Numbers are kept as they were written, whatever a double makes of them: what they mean is for
// whoever asks for them.
type Document struct {
	s     string
	nodes []node // in the order of their first bytes
}

// node is one value. A container's elements stand behind it, up to next. A small value has two bytes of text, so this is kept small too.
type node struct {
	from, to int32 // its bytes
	next     int32 // the node behind the last one of it
	name     int32 // of a member: where its name begins; else 0
	kind     JSONKind
}

// maxDocument bounds the bytes of a document, so that a node's places fit.
const maxDocument = math.MaxInt32

// JSONKind is what a value is.
type JSONKind uint8

// The kinds of values.
const (
	JSONNull JSONKind = iota
	JSONBool
	JSONNumber
	JSONString
	JSONArray
	JSONObject
)

// ReadDocument reads a document. The error is a *Problem with bad_request, for one of 2 GiB too_large.
func ReadDocument(text []byte) (*Document, error) {
	if len(text) > maxDocument {
		return nil, refuse(TooLarge, "a document has at most %d bytes", maxDocument)
	}
	d := &Document{s: string(text), nodes: make([]node, 0, 16+len(text)/32)}
	p := scanner{s: d.s}
	d.read(&p, 0, 0)
	p.end()
	if !utf8.ValidString(p.s) {
		return nil, &Problem{Code: BadRequest, Message: faultUTF8}
	}
	if p.failed() {
		return nil, p.problem()
	}
	return d, nil
}

// Root is the document's value.
func (d *Document) Root() Value { return Value{d, 0} }

// read reads one value and what is in it. name is where its name began.
func (d *Document) read(p *scanner, name, depth int) {
	c := p.peek()
	at := len(d.nodes)
	d.nodes = append(d.nodes, node{from: int32(p.i), name: int32(name)})
	kind := JSONNull
	switch {
	case c == '"':
		kind = JSONString
		p.str()
	case c == '{' || c == '[':
		if depth == MaxDepth {
			p.fail("more than %d levels", MaxDepth)
			return
		}
		p.i++
		if kind = JSONArray; c == '{' {
			kind = JSONObject
		}
		d.readInside(p, kind, depth+1)
		if kind == JSONObject && !p.failed() {
			d.unique(p, at)
		}
	case c == '-' || isDigit(c):
		kind = JSONNumber
		p.number()
	case c == 't':
		kind = JSONBool
		p.literal("true")
	case c == 'f':
		kind = JSONBool
		p.literal("false")
	case c == 'n':
		p.literal("null")
	default:
		p.unexpected("a value")
	}
	n := &d.nodes[at]
	n.kind, n.to, n.next = kind, int32(p.i), int32(len(d.nodes))
}

func (d *Document) readInside(p *scanner, kind JSONKind, depth int) {
	end := byte(']')
	if kind == JSONObject {
		end = '}'
	}
	for n := 0; p.next(end, n); n++ {
		name := 0
		if kind == JSONObject {
			p.peek()
			name = p.i
			p.name()
		}
		d.read(p, name, depth)
	}
}

// text is the string that begins at a place of the document.
func (d *Document) text(at int32) string {
	p := scanner{s: d.s, i: int(at)}
	return p.str()
}

// unique fails for an object with a member twice. Its node isn't whole yet, its members are.
func (d *Document) unique(p *scanner, object int) {
	const few = 16
	var short [few]string
	names := short[:0]
	for at := object + 1; at < len(d.nodes); at = int(d.nodes[at].next) {
		names = append(names, d.text(d.nodes[at].name))
	}
	if len(names) <= few {
		for i, name := range names {
			if slices.Contains(names[:i], name) {
				p.fail("member %.64q stands twice", name)
				return
			}
		}
		return
	}
	seen := make(map[string]struct{}, len(names))
	for _, name := range names {
		if _, twice := seen[name]; twice {
			p.fail("member %.64q stands twice", name)
			return
		}
		seen[name] = struct{}{}
	}
}

// Value is a value in a document. The zero Value is in none, and has no methods to call.
type Value struct {
	d  *Document
	at int
}

func (v Value) node() *node { return &v.d.nodes[v.at] }

// name is the value's name in the object that it is a member of.
func (v Value) name() string { return v.d.text(v.node().name) }

// Kind says what the value is.
func (v Value) Kind() JSONKind { return v.node().kind }

// Literal returns the value as it was written.
func (v Value) Literal() string { return v.d.s[v.node().from:v.node().to] }

// Text returns what a string says, "" for any other kind.
func (v Value) Text() string {
	if v.Kind() != JSONString {
		return ""
	}
	return v.d.text(v.node().from)
}

// Elements yields the elements of an array, or the members of an object with their names, in their order.
func (v Value) Elements() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		named := v.Kind() == JSONObject
		for at := v.at + 1; at < int(v.node().next); at = int(v.d.nodes[at].next) {
			child, name := Value{v.d, at}, ""
			if named {
				name = child.name()
			}
			if !yield(name, child) {
				return
			}
		}
	}
}

// Pointer is a JSON pointer (RFC 6901): the unescaped names and indexes on the way from a value to one inside of it.
type Pointer []string

// ParsePointer reads a JSON pointer. ok is false for text that is none.
func ParsePointer(text string) (p Pointer, ok bool) {
	if text == "" {
		return Pointer{}, true
	}
	if text[0] != '/' || !utf8.ValidString(text) {
		return nil, false
	}
	for _, token := range strings.Split(text[1:], "/") {
		for i := range len(token) {
			if token[i] == '~' && (i+1 == len(token) || token[i+1] != '0' && token[i+1] != '1') {
				return nil, false
			}
		}
		p = append(p, strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"))
	}
	return p, true
}

// Find returns the value that a pointer points to. ok is false where there is none.
func (v Value) Find(p Pointer) (found Value, ok bool) {
	for _, token := range p {
		if v, ok = v.child(token); !ok {
			return Value{}, false
		}
	}
	return v, true
}

func (v Value) child(token string) (Value, bool) {
	index := -1
	switch v.Kind() {
	case JSONObject:
	case JSONArray:
		n, ok := smallInteger(token)
		if !ok || !isIndex(token) {
			return Value{}, false
		}
		index = int(n)
	default:
		return Value{}, false
	}
	i := 0
	for name, child := range v.Elements() {
		if i == index || index < 0 && name == token {
			return child, true
		}
		i++
	}
	return Value{}, false
}

// isIndex says whether a token is digits without a leading zero (RFC 6901, 4).
func isIndex(token string) bool {
	for i := range len(token) {
		if !isDigit(token[i]) {
			return false
		}
	}
	return token != "" && (token[0] != '0' || token == "0")
}
