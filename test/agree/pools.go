package agree

import "strings"

var (
	plainTenants = []string{"a", "ab", "b", "10", "9", "T"}
	plainNames   = []string{"c", "bc", "x", "x", "y", "1"}
	// oddNames are good names that an implementation is likely to trip over.
	oddNames = []string{
		"a b", "ä", "a\u0308", "\U0001D518", "\uE000", "\uFFFD", "\uFFFF", "\uFEFFx", "x\uFEFF", "\u200Bx", "x\u200B", `"`, `\`, `a"b\`, "__proto__",
		"constructor", "<&>", "x\u2028y", "x\u00A0y", "é", "É", "é", "ﬁ", "İ", "ß", strings.Repeat("n", 256),
		strings.Repeat("€", 85), "-", "0", "null", "x#", "'", ",", "\u00AD", "\u061C", "\u180E", "\u2060", "\U0010FFFF", "\uD7FF",
	}
	badNames = []string{
		"", " a", "a ", "a\u00A0", "\u3000a", "\u0085", "a\u0085b", "a\x00", "a\x7Fb", "\u2028a", "a\u1680", "\u205Fa", "a\u202F", "a\u200A", "\u2000a",
		strings.Repeat("n", 257), strings.Repeat("€", 85) + "nn", "a\x1Fb", "\va", "a\xFFb", "a\xC0\x80", "\xED\xA0\x80", "a\rb", "a\r",
	}
	goodAmounts = []string{
		"0", "0.00", "1", "1.5", "2.50", "2.5", "0.1", "0.2", "0.125", "0.00000001", "999999999999999999.99999999", "999999999999999999", "10.00000000", "12.30",
	}
	badAmounts = []string{
		"", "12,50", "-5.00", "+1", "1e3", ".5", "5.", "00.1", "01", "NaN", "１２", " 1", "1 ", "1.000000000", "1000000000000000000", ".-1", "1.-5",
		"1e9999", "\u22125", "1_000", "0x10", "1/3", "-0", "null", "1.5.2", "1\x00", strings.Repeat("9", 400),
	}
	badIntegers = []string{"", "-1", "+1", "01", "1.0", "1e3", " 1", "1_0", "1000000000000000", "١", "０", "abc", "1\r"}
	badScopes   = []string{"WIRE", "Schema", "bogus", " wire", "wire ", "w"}
	badStates   = []string{"", "DONE", "Pending", " done", "open"}
)
