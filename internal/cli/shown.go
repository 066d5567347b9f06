package cli

import (
	"strconv"
	"strings"
	"unicode"
)

// harmless returns a text with what a terminal would obey, or what changes the direction of its surroundings, written as an escape.
func harmless(text string) string { return escaped(text, obeyed) }

// shown is harmless for a name, of which also nothing may be there unseen: two names that look the same are the same.
func shown(name string) string { return escaped(name, unseen) }

// shownLines is shown for a text of several lines, as errors and faults are.
func shownLines(text string) string {
	return escaped(text, func(r rune) bool { return r != '\n' && unseen(r) })
}

func escaped(text string, hidden func(rune) bool) string {
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func obeyed(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// unseen also tells what takes no place on a screen: joiners, fillers, selectors, tags, separators of lines. U+FFFD stands for bytes that
// are no UTF-8, and is shown as it is.
func unseen(r rune) bool {
	return obeyed(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
