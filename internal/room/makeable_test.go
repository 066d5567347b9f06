package room

import (
	"testing"

	"hapax/internal/idem"
)

// A room whose name ends in a star, or that no URL can name, isn't made; one that is there goes on, and its stored messages are known.
func TestNamesThatNoRoomIsMadeUnder(t *testing.T) {
	for name, made := range map[string]bool{"pub*": false, "*": false, ".": false, "..": false, "/": false, "//": true, "/a": true, "a/": true, "pub": true, "*a": true, "...": true, "a.": true, ".a": true, "a*b": true, "ü": true} {
		c := Command{Key: idem.Key{Actor: "ann", Room: name, ID: "a"}}
		if got := Decide(Facts{}, &c).Kind; (got == Accepted) != made || !made && got != BadName {
			t.Errorf("%s: %s", name, got)
		}
		if got := Decide(Facts{Head: 1}, &c).Kind; got != Accepted {
			t.Errorf("%s is there: %s", name, got)
		}
		if got := Decide(Facts{Known: true}, &c).Kind; got != Duplicate {
			t.Errorf("%s, a message that is stored: %s", name, got)
		}
	}
}
