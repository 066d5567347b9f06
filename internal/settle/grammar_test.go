package settle

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var integerGrammar = regexp.MustCompile(`^(0|[1-9][0-9]{0,14})$`)

func checkInteger(t interface{ Errorf(string, ...any) }, text string) {
	n, ok := ParseInteger([]byte(text))
	if want := integerGrammar.MatchString(text); ok != want {
		t.Errorf("%q: parsed %t, by the grammar %t", text, ok, want)
	}
	if ok && strconv.FormatInt(n, 10) != text {
		t.Errorf("%q is read as %d", text, n)
	}
}

var integerSeeds = []string{"0", "1", "999999999999999", "1000000000000000", "", "00", "01", "-1", "+1", " 1", "1 ", "1_0", "0x1", "1.0", "１", "1\x00"}

func TestIntegerGrammar(t *testing.T) {
	for _, text := range integerSeeds {
		checkInteger(t, text)
	}
	rapid.Check(t, func(t *rapid.T) { checkInteger(t, rapid.StringMatching(`[0-9]{0,17}`).Draw(t, "text")) })
}

func FuzzInteger(f *testing.F) {
	for _, text := range integerSeeds {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkInteger(t, text) })
}

// whiteSpace is Unicode's property White_Space, written out.
const whiteSpace = "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

func wantName(text string) bool {
	if len(text) < 1 || len(text) > 256 || !utf8.ValidString(text) || strings.Trim(text, whiteSpace) != text {
		return false
	}
	return strings.IndexFunc(text, unicode.IsControl) < 0
}

func checkName(t interface{ Errorf(string, ...any) }, text string) {
	if got, want := ValidName([]byte(text)), wantName(text); got != want {
		t.Errorf("%q: a name %t, want %t", text, got, want)
	}
	if got, want := ValidTenant([]byte(text)), wantName(text) && !strings.HasPrefix(text, "#"); got != want {
		t.Errorf("%q: a tenant %t, want %t", text, got, want)
	}
}

var nameSeeds = []string{"", "a", "a b", " a", "a ", "#a", "a#", "\ufeffa", "a\u200b", "\u00a0a", "a\u3000", "a\u0085b", "a\x00b", "a\tb", "\x7f", "~", "é", "\xff", "\xed\xa0\x80",
	strings.Repeat("k", 256), strings.Repeat("k", 257), strings.Repeat("é", 128), strings.Repeat("é", 128) + "x", "\U0001F600", "a\u2028b", "\u2028", "a\u0080"}

func TestNames(t *testing.T) {
	for _, text := range nameSeeds {
		checkName(t, text)
	}
	for _, space := range whiteSpace {
		checkName(t, string(space)+"a")
		checkName(t, "a"+string(space))
		checkName(t, "a"+string(space)+"b")
	}
}

func FuzzName(f *testing.F) {
	for _, text := range nameSeeds {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkName(t, text) })
}

func TestWords(t *testing.T) {
	for _, s := range []Scope{ScopeSchema, ScopeWire} {
		if got, ok := ParseScope([]byte(s.String())); !ok || got != s {
			t.Errorf("%s reads as %v %t", s, got, ok)
		}
	}
	for _, s := range []State{StateDone, StatePending} {
		if got, ok := ParseState([]byte(s.String())); !ok || got != s {
			t.Errorf("%s reads as %v %t", s, got, ok)
		}
	}
	for _, text := range []string{"", "Wire", "WIRE", "wire ", "schema\x00"} {
		if _, ok := ParseScope([]byte(text)); ok {
			t.Errorf("%q is a scope", text)
		}
		if _, ok := ParseState([]byte(text)); ok {
			t.Errorf("%q is a state", text)
		}
	}
}
