package audit

import (
	"math/big"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestInteger(t *testing.T) {
	good := map[string]int64{"0": 0, "1": 1, "10": 10, "999999999999999": 999_999_999_999_999}
	for text, want := range good {
		if got, ok := integer([]byte(text)); !ok || got != want {
			t.Errorf("integer(%q) = %d, %t", text, got, ok)
		}
	}
	for _, text := range []string{
		"", "00", "01", "-0", "-1", "+1", " 1", "1 ", "1_0", "1.0", "1e3", "0x1", "1000000000000000", "99999999999999999999", "１", "٣", "1\x00", "\r",
	} {
		if got, ok := integer([]byte(text)); ok {
			t.Errorf("integer(%q) = %d, want none", text, got)
		}
	}
}

var contractAmount = regexp.MustCompile(`\A(0|[1-9][0-9]{0,17})(\.[0-9]{1,8})?\z`)

// checkAmount holds the grammar against the contract's expression and math/big.
func checkAmount(t *testing.T, text string) {
	t.Helper()
	whole, parts, ok := amount([]byte(text))
	if want := contractAmount.MatchString(text); ok != want {
		t.Errorf("amount(%.40q): %t, want %t", text, ok, want)
	}
	if !ok {
		return
	}
	want, _ := new(big.Rat).SetString(text)
	got := new(big.Rat).SetFrac(new(big.Int).SetUint64(uint64(parts)), big.NewInt(100_000_000))
	got.Add(got, new(big.Rat).SetInt(new(big.Int).SetUint64(whole)))
	if parts >= 100_000_000 || got.Cmp(want) != 0 {
		t.Errorf("amount(%q) = %s, want %s", text, got, want)
	}
}

var amounts = []string{
	"0", "1", "0.0", "0.1", "0.00000001", "0.12345678", "12.50", "2.5", "999999999999999999", "999999999999999999.99999999", "100000000000000000.1",
	"", ".", ".5", "5.", "00.1", "01", "0.123456789", "1000000000000000000", "9999999999999999999", "99999999999999999999.1", "12,50", "-5.00", "+1", "1e3", "NaN",
	"Inf", "１２", " 1", "1 ", "1.", "1. 5", "1..5", "1.5.", "1.5.2", ".-1", "1.-5", "1e9999", "\u22125", "1_000", "0x10", "1/3", "-0", "null", "1\x00",
	"1.0\x00", "\x001", "٣", "1.٣", "1\r", "0.1\r", "\t1", "0.00000000", "0.", strings.Repeat("9", 70_000), "1." + strings.Repeat("0", 70_000),
}

func TestAmount(t *testing.T) {
	for _, text := range amounts {
		checkAmount(t, text)
	}
}

func FuzzAmount(f *testing.F) {
	for _, text := range amounts {
		f.Add(text)
	}
	f.Fuzz(checkAmount)
}

// spaces is the White_Space property as the contract means it, from the Unicode database's list.
var spaces = []rune{
	0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x20, 0x85, 0xA0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A,
	0x2028, 0x2029, 0x202F, 0x205F, 0x3000,
}

// TestNameOfEveryRune tries every character at both ends and inside, against the standard library's tables.
func TestNameOfEveryRune(t *testing.T) {
	count := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		space, control := unicode.Is(unicode.White_Space, r), unicode.Is(unicode.Cc, r)
		if space {
			count++
		}
		for text, want := range map[string]bool{
			string(r) + "a": !space && !control, "a" + string(r): !space && !control, string(r): !space && !control, "a" + string(r) + "b": !control,
		} {
			if name([]byte(text)) != want {
				t.Fatalf("name(%q) = %t", text, !want)
			}
		}
	}
	if count != len(spaces) {
		t.Errorf("%d characters of white space, want %d", count, len(spaces))
	}
}

func TestName(t *testing.T) {
	for _, r := range spaces {
		if !whiteSpace(r) {
			t.Errorf("%U isn't taken for white space", r)
		}
	}
	for text, want := range map[string]bool{
		"": false, "a": true, "a b": true, "\uFEFF": true, "\u200Ba\u200B": true, "a\u3000b": true, "a\u2028b": true, "a\tb": false, "a\u0085b": false,
		"a\u009Fb": false, "a\u00A0b": true, "a\x7Fb": false, "#a": true, "\"": true, strings.Repeat("x", 256): true, strings.Repeat("x", 257): false,
		strings.Repeat("é", 128): true, strings.Repeat("é", 128) + "x": false, " ": false, "\u2003a": false, "a\u2029": false,
	} {
		if name([]byte(text)) != want {
			t.Errorf("name(%.40q) = %t", text, !want)
		}
	}
	if tenantName([]byte("#a")) || !tenantName([]byte("a#")) || tenantName([]byte(" a")) {
		t.Error("a tenant doesn't start with #, but may hold one")
	}
}

func TestWords(t *testing.T) {
	for _, text := range []string{"", "Wire", "WIRE", "wire ", " wire", "wires", "schem", "ｗｉｒｅ"} {
		if _, ok := statedScope([]byte(text)); ok {
			t.Errorf("scope %q was taken", text)
		}
	}
	for _, text := range []string{"", "Done", "DONE", "done ", "pendin", "open"} {
		if _, ok := stateIsPending([]byte(text)); ok {
			t.Errorf("state %q was taken", text)
		}
	}
	for text, want := range map[string]bool{"done": false, "pending": true} {
		if pending, ok := stateIsPending([]byte(text)); !ok || pending != want {
			t.Errorf("state %q: %t, %t", text, pending, ok)
		}
	}
}
