package protocol

import (
	"iter"
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

// node is one value. A container's elements stand behind it, up to next.
type node struct {
	kind     JSONKind
	from, to int    // its bytes
	next     int    // the node behind the last one of it
	name     string // of a member
	text     string // of a string: what it says
}

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

// ReadDocument reads a document. The error is a *Problem with bad_request.
func ReadDocument(text []byte) (*Document, error) {
	d := &Document{s: string(text), nodes: make([]node, 0, 16+len(text)/32)}
	p := scanner{s: d.s}
	d.read(&p, 0)
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

// read reads one value and what is in it.
func (d *Document) read(p *scanner, depth int) {
	c := p.peek()
	at := len(d.nodes)
	d.nodes = append(d.nodes, node{from: p.i})
	n := node{from: p.i}
	switch {
	case c == '"':
		n.kind, n.text = JSONString, p.str()
	case c == '{' || c == '[':
		if depth == MaxDepth {
			p.fail("more than %d levels", MaxDepth)
			return
		}
		p.i++
		if n.kind = JSONArray; c == '{' {
			n.kind = JSONObject
		}
		d.readInside(p, n.kind, depth+1)
		if n.kind == JSONObject && !p.failed() {
			d.unique(p, at)
		}
	case c == '-' || isDigit(c):
		n.kind = JSONNumber
		p.number()
	case c == 't':
		n.kind = JSONBool
		p.literal("true")
	case c == 'f':
		n.kind = JSONBool
		p.literal("false")
	case c == 'n':
		p.literal("null")
	default:
		p.unexpected("a value")
	}
	n.to, n.next, n.name = p.i, len(d.nodes), d.nodes[at].name
	d.nodes[at] = n
}

func (d *Document) readInside(p *scanner, kind JSONKind, depth int) {
	end := byte(']')
	if kind == JSONObject {
		end = '}'
	}
	for n := 0; p.next(end, n); n++ {
		name := ""
		if kind == JSONObject {
			name = p.name()
		}
		at := len(d.nodes)
		d.read(p, depth)
		d.nodes[at].name = name
	}
}

// unique fails for an object with a member twice. Its node isn't whole yet, its members are.
func (d *Document) unique(p *scanner, object int) {
	const few = 16
	var names []string
	for at := object + 1; at < len(d.nodes); at = d.nodes[at].next {
		names = append(names, d.nodes[at].name)
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

// Kind says what the value is.
func (v Value) Kind() JSONKind { return v.node().kind }

// Literal returns the value as it was written.
func (v Value) Literal() string { return v.d.s[v.node().from:v.node().to] }

// Text returns what a string says, "" for any other kind.
func (v Value) Text() string { return v.node().text }

// Elements yields the elements of an array or the members of an object, with their names, in their order.
func (v Value) Elements() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for at := v.at + 1; at < v.node().next; at = v.d.nodes[at].next {
			if !yield(v.d.nodes[at].name, Value{v.d, at}) {
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
