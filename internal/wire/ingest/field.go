package ingest

import (
	"errors"
	"fmt"
	"net/http"

	"hapax/protocol"
)

// reader is a Field made ready.
type reader struct {
	from    origin
	name    string           // of the header, in canonical form, or the constant
	pointer protocol.Pointer // into the body
	said    string           // the field as configured, for answers
}

type origin uint8

const (
	fromNowhere origin = iota
	fromHeader
	fromBody
	fromConstant
)

func (f *Field) compile(format string) (reader, error) {
	set := 0
	for _, s := range []string{f.Header, f.Pointer, f.Attribute, f.Constant} {
		if s != "" {
			set++
		}
	}
	switch {
	case set == 0:
		return reader{}, nil
	case set > 1:
		return reader{}, errors.New("a header, a pointer, an attribute and a constant are one too many: one is read")
	case f.Constant != "":
		return reader{from: fromConstant, name: f.Constant}, nil
	case f.Header != "":
		if !validHeader(f.Header) {
			return reader{}, fmt.Errorf("%q is no name of a header", f.Header)
		}
		return reader{from: fromHeader, name: http.CanonicalHeaderKey(f.Header), said: "header " + f.Header}, nil
	case f.Attribute != "":
		if format != FormatCloudEvents {
			return reader{}, fmt.Errorf("attribute %q: the body is no CloudEvent", f.Attribute)
		}
		if !validAttribute(f.Attribute) {
			return reader{}, fmt.Errorf("%q is no name of an attribute", f.Attribute)
		}
		return reader{from: fromBody, pointer: protocol.Pointer{f.Attribute}, said: "attribute " + f.Attribute}, nil
	}
	p, ok := protocol.ParsePointer(f.Pointer)
	switch {
	case !ok:
		return reader{}, fmt.Errorf("%q is no JSON pointer", f.Pointer)
	case format == FormatRaw:
		return reader{}, fmt.Errorf("pointer %q: a raw body isn't looked into", f.Pointer)
	}
	return reader{from: fromBody, pointer: p, said: "member " + f.Pointer}, nil
}

// reading is what stands where a reader looks.
type reading struct {
	there bool // false also for a JSON null
	kind  protocol.JSONKind
	text  string // of a string or a header what it says, of a number its literal, else the JSON text
	twice bool   // the header stands more than once
}

// read looks into one item. A header or a constant reads like a JSON string.
func (r *reader) read(it *item) reading {
	switch r.from {
	case fromConstant:
		return reading{there: true, kind: protocol.JSONString, text: r.name}
	case fromHeader:
		values := it.header[r.name]
		if len(values) == 0 {
			return reading{}
		}
		return reading{there: true, kind: protocol.JSONString, text: values[0], twice: len(values) > 1}
	case fromBody:
		v, ok := it.value.Find(r.pointer)
		if !ok {
			return reading{}
		}
		kind := v.Kind()
		if kind == protocol.JSONString {
			return reading{there: true, kind: kind, text: v.Text()}
		}
		return reading{there: kind != protocol.JSONNull, kind: kind, text: v.Literal()}
	}
	return reading{}
}

// word says whether what was read is text or a number: nothing else can be a name, a time or a code.
func (r *reading) word() bool {
	return r.there && !r.twice && (r.kind == protocol.JSONString || r.kind == protocol.JSONNumber)
}
