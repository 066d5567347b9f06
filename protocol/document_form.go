package protocol

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// AppendCanonical appends the RFC 8785 form of the value to dst, without those values inside of it that are among without.
//
// RFC 8785 writes a number as the double nearest to it. Where that is another number (an integer of twenty digits, 1e999), two
// documents of different content would have one form; there the number is written by its own digits: 12345678901234567890 as
// 1234567890123456789e1, without the trailing zeros.
func (v Value) AppendCanonical(dst []byte, without []Value) []byte {
	switch v.Kind() {
	case JSONString:
		return appendString(dst, v.Text())
	case JSONNumber:
		return appendLiteral(dst, v.Literal())
	case JSONArray:
		dst = append(dst, '[')
		from := len(dst)
		for _, e := range v.Elements() {
			if slices.Contains(without, e) {
				continue
			}
			if len(dst) > from {
				dst = append(dst, ',')
			}
			dst = e.AppendCanonical(dst, without)
		}
		return append(dst, ']')
	case JSONObject:
		dst = append(dst, '{')
		from := len(dst)
		for _, m := range v.members(without) {
			if len(dst) > from {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, m.name()), ':')
			dst = m.AppendCanonical(dst, without)
		}
		return append(dst, '}')
	}
	return append(dst, v.Literal()...)
}

// members returns the members of an object in the order of RFC 8785.
func (v Value) members(without []Value) []Value {
	var out []Value
	sorted := true
	for name, m := range v.Elements() {
		if slices.Contains(without, m) {
			continue
		}
		if last := len(out) - 1; last >= 0 && compareUTF16(out[last].name(), name) > 0 {
			sorted = false
		}
		out = append(out, m)
	}
	if !sorted {
		slices.SortFunc(out, func(a, b Value) int { return compareUTF16(a.name(), b.name()) })
	}
	return out
}

// appendLiteral writes a number as RFC 8785 does where that is the same number, else by its own digits.
func appendLiteral(dst []byte, literal string) []byte {
	if len(literal) <= 15 && isIndex(literal) {
		return append(dst, literal...) // the usual one: a double holds it
	}
	digits, exponent, ok := decimal(literal)
	switch {
	case !ok:
		return append(dst, literal...) // an exponent beyond counting
	case digits == "":
		return append(dst, '0')
	}
	v, err := strconv.ParseFloat(literal, 64)
	if err == nil && v != 0 && !math.IsInf(v, 0) {
		from := len(dst)
		dst = appendNumber(dst, v)
		if d, e, _ := decimal(string(dst[from:])); d == digits && e == exponent {
			return dst
		}
		dst = dst[:from]
	}
	if literal[0] == '-' {
		dst = append(dst, '-')
	}
	return strconv.AppendInt(append(append(dst, digits...), 'e'), exponent, 10)
}

// decimal takes a number apart: its digits without zeros at either end ("" for 0), and the power of ten that they count. ok is false
// for an exponent of more than nine digits.
func decimal(literal string) (digits string, exponent int64, ok bool) {
	mantissa := strings.TrimPrefix(literal, "-")
	if at := strings.IndexAny(mantissa, "eE"); at >= 0 {
		text := strings.TrimPrefix(mantissa[at+1:], "+")
		mantissa = mantissa[:at]
		if exponent, ok = smallInteger(text); !ok || len(text) > 9 {
			return "", 0, strings.Trim(mantissa, "0.") == ""
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exponent -= int64(len(fraction))
	digits = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	return short, exponent + int64(len(digits)-len(short)), true
}

// Bounds of what Differences tells.
const (
	maxDifferences    = 32
	maxDifferenceText = 256 // bytes of a pointer; a longer one is told by the container that it is in
)

// Differences returns JSON pointers to where two values differ, those not counted that are among without: at most 32, by the order of
// RFC 8785. Arrays of different lengths differ as a whole.
func Differences(a, b Value, without []Value) []string {
	c := comparison{without: without}
	c.compare("", a, b)
	return c.found
}

type comparison struct {
	without []Value
	found   []string
}

func (c *comparison) note(at string) {
	if len(c.found) < maxDifferences && !slices.Contains(c.found, at) {
		c.found = append(c.found, at)
	}
}

func (c *comparison) compare(at string, a, b Value) {
	switch {
	case len(c.found) == maxDifferences:
	case a.Kind() == JSONObject && b.Kind() == JSONObject:
		c.objects(at, a.members(c.without), b.members(c.without))
	case a.Kind() == JSONArray && b.Kind() == JSONArray && c.count(a) == c.count(b):
		c.arrays(at, a, b)
	case string(a.AppendCanonical(nil, c.without)) != string(b.AppendCanonical(nil, c.without)):
		c.note(at)
	}
}

// objects walks the members of both in one order.
func (c *comparison) objects(at string, a, b []Value) {
	for len(a) > 0 || len(b) > 0 {
		order := 0
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = compareUTF16(a[0].name(), b[0].name())
		}
		switch {
		case order < 0:
			c.note(below(at, a[0].name()))
			a = a[1:]
		case order > 0:
			c.note(below(at, b[0].name()))
			b = b[1:]
		default:
			c.compare(below(at, a[0].name()), a[0], b[0])
			a, b = a[1:], b[1:]
		}
	}
}

func (c *comparison) arrays(at string, a, b Value) {
	i, rest := 0, c.elements(b)
	for _, e := range c.elements(a) {
		c.compare(below(at, strconv.Itoa(i)), e, rest[i])
		i++
	}
}

func (c *comparison) elements(v Value) (out []Value) {
	for _, e := range v.Elements() {
		if !slices.Contains(c.without, e) {
			out = append(out, e)
		}
	}
	return out
}

func (c *comparison) count(v Value) int { return len(c.elements(v)) }

func below(at, token string) string {
	if len(at)+1+len(token) > maxDifferenceText {
		return at
	}
	return at + "/" + strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}
