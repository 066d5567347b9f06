package ids

import "testing"

// FuzzParse: what Parse takes, it writes back byte for byte, and Check takes it too; neither ever panics.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "0123456789abcdef0123456789abcdef", "00000000000000000000000000000000", "a\"b", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := Parse(s)
		if err != nil {
			return
		}
		if id.String() != s || id.IsZero() || Check(s) != nil {
			t.Fatalf("%q parsed to %v", s, id)
		}
	})
}
