package protocol

import (
	"bytes"
	"fmt"
	"sync"
)

// reader reads the members of one object. A value of the wrong kind is noted and stepped over: whether it matters shows
// when the frame's type is known, and the ref may still come.
type reader struct {
	scanner
	object
}

// object is how far the reading of one object has come.
type object struct {
	n      int
	seen   fields
	wrong  fields              // of the wrong kind
	inside string              // what is wrong inside of the first wrong object or array
	others map[string]struct{} // unknown names, which may not stand twice either
}

// member moves to the next member's value. ok is false at the end of the object.
func (r *reader) member() (f field, ok bool) {
	if !r.next('}', r.n) {
		return fUnknown, false
	}
	r.n++
	name := r.name()
	f = fieldNamed(name)
	switch {
	case r.failed():
		return f, false
	case f == fUnknown:
		if _, twice := r.others[name]; twice {
			r.fail("member %.64q stands twice", name)
		}
		if r.others == nil {
			r.others = make(map[string]struct{})
		}
		r.others[name] = struct{}{}
	case r.seen.has(f):
		r.fail("member %.64q stands twice", name)
	}
	r.seen |= 1 << f
	return f, true
}

// passOver reads a value only to see that it is well-formed.
func (r *reader) passOver() {
	release(r.form())
}

// form reads any value into its canonical form. The buffer goes back by release.
func (r *reader) form() *[]byte {
	b := buffers.Get().(*[]byte)
	*b = r.canon((*b)[:0], 0)
	return b
}

// maxPooled bounds the buffers that are kept: a few frames with much data must not hold memory for ever.
const maxPooled = 16 << 10

// buffers are where canonical forms grow before they are copied out with their exact length.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 512); return &b }}

func release(b *[]byte) {
	if cap(*b) <= maxPooled {
		buffers.Put(b)
	}
}

func (r *reader) mismatch(f field) {
	r.wrong |= 1 << f
	r.passOver()
}

func (r *reader) string(f field, dst *string) {
	if r.peek() != '"' {
		r.mismatch(f)
		return
	}
	*dst = r.str()
}

func (r *reader) int(f field, dst *int64) {
	if c := r.peek(); c != '-' && !isDigit(c) {
		r.mismatch(f)
		return
	}
	v, ok := r.integer()
	if !ok {
		r.wrong |= 1 << f
	}
	*dst = v
}

func (r *reader) bool(f field, dst *bool) {
	switch r.peek() {
	case 't':
		r.literal("true")
		*dst = true
	case 'f':
		r.literal("false")
	default:
		r.mismatch(f)
	}
}

// data reads any value into its canonical form, null as nil.
func (r *reader) data(dst *[]byte) {
	b := r.form()
	if string(*b) != "null" {
		*dst = bytes.Clone(*b)
	}
	release(b)
}

// enter starts on an object or array inside of the one being read; leave goes back to that.
func (r *reader) enter() (outer object) {
	r.i++
	outer, r.object = r.object, object{}
	return outer
}

func (r *reader) leave(outer object) { r.object = outer }

// small reads a small object: read is called at each member's value, and says false for one that it doesn't know.
func (r *reader) small(f field, read func(name string) bool) {
	if r.peek() != '{' {
		r.mismatch(f)
		return
	}
	outer := r.enter()
	bad := ""
	names := make(map[string]struct{})
	for ; r.next('}', r.n); r.n++ {
		name := r.name()
		if _, twice := names[name]; twice {
			r.fail("member %.64q stands twice", name)
		}
		names[name] = struct{}{}
		if !r.failed() && !read(name) {
			r.passOver()
		}
		if r.wrong != 0 && bad == "" {
			bad = name
		}
	}
	r.leave(outer)
	if bad != "" {
		r.note(f, "%s.%s is of the wrong kind", fieldTable[f].name, bad)
	}
}

// note says what is wrong inside of a member; the first is kept.
func (r *reader) note(f field, format string, args ...any) {
	if r.inside == "" {
		r.inside = fmt.Sprintf(format, args...)
	}
	r.wrong |= 1 << f
}

// check says what keeps the members read from being those of the shape.
func (r *reader) check(s shape) *Problem {
	if wrong := r.wrong & s.all(); wrong != 0 {
		f := wrong.first()
		k := fieldTable[f].kind
		if r.inside != "" && (k == kindObject || k == kindArray) {
			return refuse(BadRequest, "%s", r.inside)
		}
		return refuse(BadRequest, "%s must be %s", fieldTable[f].name, k)
	}
	if missing := s.required &^ r.seen; missing != 0 {
		return refuse(BadRequest, "%s is missing", fieldTable[missing.first()].name)
	}
	return nil
}
