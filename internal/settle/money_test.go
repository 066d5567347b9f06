package settle

import (
	"math/big"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// amountGrammar is the contract's text, word for word.
var amountGrammar = regexp.MustCompile(`^(0|[1-9][0-9]{0,17})(\.[0-9]{1,8})?$`)

// asRat is the value of an amount or a sum's text by math/big.
func asRat(t interface{ Fatalf(string, ...any) }, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number to math/big", text)
	}
	return r
}

func checkAmount(t interface {
	Errorf(string, ...any)
	Fatalf(string, ...any)
}, text string) {
	a, ok := ParseAmount([]byte(text))
	// In Go `$` without the flag m is the end of the text, newline or not.
	if want := amountGrammar.MatchString(text); ok != want {
		t.Fatalf("%q: parsed %t, by the grammar %t", text, ok, want)
	}
	if !ok {
		if a != (Amount{}) {
			t.Errorf("%q is no amount but has the value %+v", text, a)
		}
		return
	}
	var s Sum
	s.Add(a)
	if asRat(t, text).Cmp(asRat(t, s.String())) != 0 {
		t.Errorf("%q became %s", text, s.String())
	}
	again, ok := ParseAmount([]byte(s.String()))
	if !ok || again != a {
		t.Errorf("%q written as %s reads as %+v", text, s.String(), again)
	}
}

var amountSeeds = []string{"0", "1", "0.0", "0.00000001", "999999999999999999.99999999", "1000000000000000000", "12.5", "12.50", "2.5", "01", "00.1",
	"", ".", "1.", ".5", "5.", "-5.00", "+1", "1e3", "12,50", "NaN", "Inf", "１２", "−5", " 1", "1 ", "1\n", "1_000", "0x10", "1/3", "-0", "1.000000000", "1..0", "1.0.0", "0.0000000a", "９"}

func TestAmountGrammar(t *testing.T) {
	for _, text := range amountSeeds {
		checkAmount(t, text)
	}
	rapid.Check(t, func(t *rapid.T) { checkAmount(t, rapid.StringMatching(`[0-9]{0,20}[.,]?[0-9]{0,10}`).Draw(t, "text")) })
}

func TestHugeTextIsRefusedAtOnce(t *testing.T) {
	text := []byte(strings.Repeat("9", 10<<20)) // if it were read to its end for each digit, this would take days
	if _, ok := ParseAmount(text); ok {
		t.Error("ten million digits are an amount")
	}
	if _, ok := ParseAmount(append([]byte("1."), text...)); ok {
		t.Error("ten million decimals are an amount")
	}
	if _, ok := ParseInteger(text); ok {
		t.Error("ten million digits are an integer")
	}
}

func FuzzAmount(f *testing.F) {
	for _, text := range amountSeeds {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkAmount(t, text) })
}

// TestSumsAreExact adds amounts of every size, as sums and in parts, against math/big.
func TestSumsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringMatching(`(0|[1-9][0-9]{0,17})(\.[0-9]{1,8})?`), 0, 60).Draw(t, "amounts")
		var whole, left, right Sum
		want := new(big.Rat)
		for i, text := range texts {
			a, ok := ParseAmount([]byte(text))
			if !ok {
				t.Fatalf("%q is no amount", text)
			}
			want.Add(want, asRat(t, text))
			whole.Add(a)
			if i%2 == 0 {
				left.Add(a)
			} else {
				right.Add(a)
			}
		}
		if got := asRat(t, whole.String()); got.Cmp(want) != 0 {
			t.Errorf("the sum is %s, want %s", whole.String(), want.FloatString(8))
		}
		left.Merge(&right)
		if left != whole {
			t.Errorf("in two parts %s, at once %s", left.String(), whole.String())
		}
	})
}

// TestSumBeyond64Bits doubles the largest amount until it needs 120 bits.
func TestSumBeyond64Bits(t *testing.T) {
	a, _ := ParseAmount([]byte("999999999999999999.99999999"))
	var s Sum
	s.Add(a)
	want := asRat(t, s.String())
	for range 60 {
		other := s
		s.Merge(&other)
		want.Add(want, want)
		if asRat(t, s.String()).Cmp(want) != 0 {
			t.Fatalf("%s, want %s", s.String(), want.FloatString(8))
		}
	}
}

func TestSumText(t *testing.T) {
	for _, c := range []struct {
		amounts string
		want    string
	}{
		{"", "0.00"},
		{"0", "0.00"},
		{"2.5", "2.50"},
		{"2.50", "2.50"},
		{"0.125 0.175", "0.30"},
		{"0.125 0.1", "0.225"},
		{"0.00000001", "0.00000001"},
		{"0.99999999 0.00000001", "1.00"},
		{"10", "10.00"},
		{"1.10000000", "1.10"},
		{"18446744073709551.615 0.001", "18446744073709551.616"},
	} {
		var s Sum
		for _, text := range strings.Fields(c.amounts) {
			a, ok := ParseAmount([]byte(text))
			if !ok {
				t.Fatalf("%q is no amount", text)
			}
			s.Add(a)
		}
		if got := s.String(); got != c.want {
			t.Errorf("%q sums to %s, want %s", c.amounts, got, c.want)
		}
	}
}

// TestZerosInsideAreKept needs the padding of the lower digits of a 128-bit number.
func TestZerosInsideAreKept(t *testing.T) {
	s := Sum{high: 0, low: 10_000_000_000_000_000_000}
	s.Merge(&Sum{low: 10_000_000_000_000_000_007})
	if got := s.String(); got != "20000000000000000007.00" {
		t.Errorf("%s", got)
	}
}
