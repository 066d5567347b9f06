package settle

import (
	"math/bits"
	"strconv"
)

// unitsPerWhole is how many of the finest unit, the hundred-millionth, make one.
const unitsPerWhole = 100_000_000

// Amount is a non-negative decimal as exact integers: whole units below 10^18 and hundred-millionths below 10^8.
type Amount struct {
	Whole    uint64
	Fraction uint32
}

// ParseAmount reads `(0|[1-9][0-9]{0,17})(\.[0-9]{1,8})?` in ASCII and nothing else, in time linear in the length
// of an amount whatever the length of text.
func ParseAmount(text []byte) (Amount, bool) {
	i := 0
	var a Amount
	for i < len(text) && i <= MaxWholeDigits && isDigit(text[i]) {
		a.Whole = a.Whole*10 + uint64(text[i]-'0')
		i++
	}
	if i == 0 || i > MaxWholeDigits || text[0] == '0' && i > 1 {
		return Amount{}, false
	}
	if i == len(text) {
		return a, true
	}
	decimals := len(text) - i - 1
	if text[i] != '.' || decimals < 1 || decimals > MaxDecimals {
		return Amount{}, false
	}
	for _, c := range text[i+1:] {
		if !isDigit(c) {
			return Amount{}, false
		}
		a.Fraction = a.Fraction*10 + uint32(c-'0')
	}
	for ; decimals < MaxDecimals; decimals++ {
		a.Fraction *= 10
	}
	return a, true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// Sum is an exact sum of amounts. Its whole part has 128 bits: more than 10^20 of the largest amounts fit, more
// than a file can hold. The zero value is the empty sum.
type Sum struct {
	high, low uint64
	fraction  uint32
}

// Add adds one amount.
func (s *Sum) Add(a Amount) { s.add(0, a.Whole, a.Fraction) }

// Merge adds another sum.
func (s *Sum) Merge(other *Sum) { s.add(other.high, other.low, other.fraction) }

func (s *Sum) add(high, low uint64, fraction uint32) {
	carry := uint64(0)
	s.fraction += fraction
	if s.fraction >= unitsPerWhole {
		s.fraction -= unitsPerWhole
		carry = 1
	}
	s.low, carry = bits.Add64(s.low, low, carry)
	s.high, _ = bits.Add64(s.high, high, carry)
}

// Parts returns the sum as integers, for a store: whole units as high·2^64 + low, and hundred-millionths.
func (s *Sum) Parts() (high, low uint64, fraction uint32) { return s.high, s.low, s.fraction }

// SumOf is the sum of those parts. ok is false for a fraction that no sum has.
func SumOf(high, low uint64, fraction uint32) (s Sum, ok bool) {
	return Sum{high, low, fraction}, fraction < unitsPerWhole
}

// String is the one canonical text of a sum: as many decimals as it needs, at least two. That equals the
// contract's "decimals of the most precise amount, trailing zeros dropped, then padded to two".
func (s *Sum) String() string { return string(s.Append(nil)) }

// Append appends String to dst.
func (s *Sum) Append(dst []byte) []byte {
	dst = appendUint128(dst, s.high, s.low)
	dst = append(dst, '.')
	start := len(dst)
	dst = strconv.AppendUint(dst, unitsPerWhole+uint64(s.fraction), 10)
	dst = append(dst[:start], dst[start+1:]...) // the leading 1 kept the zeros
	for len(dst) > start+2 && dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// appendUint128 writes high·2^64 + low in decimal.
func appendUint128(dst []byte, high, low uint64) []byte {
	if high == 0 {
		return strconv.AppendUint(dst, low, 10)
	}
	const chunk = 10_000_000_000_000_000_000 // the largest power of ten in 64 bits
	quotientHigh, rest := high/chunk, high%chunk
	quotientLow, digits := bits.Div64(rest, low, chunk)
	dst = appendUint128(dst, quotientHigh, quotientLow)
	text := strconv.AppendUint(nil, digits, 10)
	for pad := 19 - len(text); pad > 0; pad-- {
		dst = append(dst, '0')
	}
	return append(dst, text...)
}
