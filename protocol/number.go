package protocol

import (
	"math"
	"strconv"
	"strings"
)

// canonNumber reads a number and appends it as ECMAScript writes the double nearest to it (RFC 8785, 3.2.2.3).
//
// Refused are integers that a double can't count: past ±(2^53 − 1), where "integer" means a number that has neither fraction nor
// exponent, as given or as written (1e16 is written 10000000000000000 and refused; 1e30 stays 1e+30). A number too
// small for a double is 0, as every reader has it.
func (p *scanner) canonNumber(dst []byte) []byte {
	text, integer := p.number()
	if p.failed() {
		return dst
	}
	if integer {
		v, ok := smallInteger(text)
		if !ok {
			p.fail("a number is past ±(2^53 − 1)")
			return dst
		}
		if v == 0 {
			return append(dst, '0') // -0 too
		}
		return append(dst, text...)
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsInf(v, 0):
		p.fail("a number is out of a double's range")
		return dst
	case v == 0:
		return append(dst, '0')
	case v == math.Trunc(v) && math.Abs(v) > MaxSeq && math.Abs(v) < 1e21:
		p.fail("a number is past ±(2^53 − 1)")
		return dst
	}
	return appendNumber(dst, v)
}

// smallInteger parses digits with an optional sign, up to ±(2^53 − 1).
func smallInteger(text string) (int64, bool) {
	digits := strings.TrimPrefix(text, "-")
	if len(digits) > 16 {
		return 0, false
	}
	var v int64
	for i := range len(digits) {
		v = v*10 + int64(digits[i]-'0')
	}
	if v > MaxSeq {
		return 0, false
	}
	if len(digits) < len(text) {
		v = -v
	}
	return v, true
}

// appendNumber writes a double as ECMAScript's Number::toString does. v is finite and not 0.
func appendNumber(dst []byte, v float64) []byte {
	if abs := math.Abs(v); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, v, 'e', -1, 64)
	// Go writes e-07 where ECMAScript writes e-7.
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// integer reads a number that stands for an integer, in whatever way it is written. ok is false for one with a
// fraction; past ±(2^53 − 1) the whole document is refused.
func (p *scanner) integer() (v int64, ok bool) {
	text, plain := p.number()
	if p.failed() {
		return 0, false
	}
	if plain {
		if v, ok = smallInteger(text); !ok {
			p.fail("a number is past ±(2^53 − 1)")
		}
		return v, ok
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		p.fail("a number is out of a double's range")
		return 0, false
	}
	if f != math.Trunc(f) {
		return 0, false
	}
	if math.Abs(f) > MaxSeq {
		p.fail("a number is past ±(2^53 − 1)")
		return 0, false
	}
	return int64(f), true
}
