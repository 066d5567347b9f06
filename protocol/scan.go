package protocol

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// MaxDepth bounds how deep the containers of one value may nest, so that neither this reader nor one in another
// language runs out of stack. It is counted from the value itself (`data`, not the frame around it): data that
// a send may carry then fits into every frame that shows it again.
const MaxDepth = 64

// scanner reads one JSON document from front to back. The first fault stops it: all methods do nothing after it.
// It reads a string rather than bytes, so that what it hands out needs no copy of its own.
type scanner struct {
	s     string
	i     int
	fault string // the first thing wrong with the document itself
	at    int    // the byte where it was found
}

func (p *scanner) fail(format string, args ...any) {
	if p.fault == "" {
		p.fault, p.at = fmt.Sprintf(format, args...), p.i
	}
}

func (p *scanner) failed() bool { return p.fault != "" }

// peek skips white space and returns the next byte, 0 at the end or after a fault.
func (p *scanner) peek() byte {
	if p.fault != "" {
		return 0
	}
	for p.i < len(p.s) {
		switch c := p.s[p.i]; c {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return c
		}
	}
	return 0
}

// expect reads one structural byte.
func (p *scanner) expect(c byte) {
	if p.peek() == c {
		p.i++
		return
	}
	p.unexpected(strconv.QuoteRune(rune(c)))
}

func (p *scanner) unexpected(wanted string) {
	if p.fault != "" {
		return
	}
	if p.i >= len(p.s) {
		p.fail("the document ends where %s should stand", wanted)
		return
	}
	r, _ := utf8.DecodeRuneInString(p.s[p.i:])
	p.fail("%q where %s should stand", r, wanted)
}

// end checks that nothing follows the document.
func (p *scanner) end() {
	p.peek()
	if p.fault == "" && p.i < len(p.s) {
		p.fail("something follows the document")
	}
}

// next says whether a container that ends with end holds a further element. n is the number of those read.
func (p *scanner) next(end byte, n int) bool {
	c := p.peek()
	if c == end {
		p.i++
		return false
	}
	if n > 0 {
		if c != ',' {
			p.unexpected("',' or " + strconv.QuoteRune(rune(end)))
			return false
		}
		p.i++
	}
	return p.fault == ""
}

// name reads a member's name and the colon after it.
func (p *scanner) name() string {
	if p.peek() != '"' {
		p.unexpected("a member's name")
		return ""
	}
	s := p.str()
	if p.i < len(p.s) && p.s[p.i] == ':' && p.fault == "" {
		p.i++
		return s
	}
	p.expect(':')
	return s
}

// literal reads true, false or null.
func (p *scanner) literal(word string) {
	if len(p.s)-p.i >= len(word) && p.s[p.i:p.i+len(word)] == word {
		p.i += len(word)
		return
	}
	p.unexpected("a value")
}

// number reads a number and returns its text as written, and whether it has neither fraction nor exponent.
func (p *scanner) number() (text string, integer bool) {
	from := p.i
	if p.i < len(p.s) && p.s[p.i] == '-' {
		p.i++
	}
	if p.i < len(p.s) && p.s[p.i] == '0' {
		p.i++ // a digit after it is where none may stand, and found there
	} else {
		p.digits()
	}
	integer = true
	if p.i < len(p.s) && p.s[p.i] == '.' {
		integer = false
		p.i++
		p.digits()
	}
	if p.i < len(p.s) && (p.s[p.i] == 'e' || p.s[p.i] == 'E') {
		integer = false
		p.i++
		if p.i < len(p.s) && (p.s[p.i] == '+' || p.s[p.i] == '-') {
			p.i++
		}
		p.digits()
	}
	return p.s[from:p.i], integer
}

func (p *scanner) digits() {
	from := p.i
	for p.i < len(p.s) && isDigit(p.s[p.i]) {
		p.i++
	}
	if p.i == from {
		p.unexpected("a digit")
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
