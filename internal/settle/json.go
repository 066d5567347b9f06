package settle

import (
	"strconv"
	"unicode/utf8"
)

// jsonWriter writes the two forms of the report: canonical (RFC 8785) and the same indented by two spaces. The
// caller gives members in RFC 8785 order.
type jsonWriter struct {
	out    []byte
	indent bool
	depth  int
	filled bool // the innermost object or array has something in it
}

func (w *jsonWriter) open(bracket byte) {
	w.out = append(w.out, bracket)
	w.depth++
	w.filled = false
}

func (w *jsonWriter) close(bracket byte) {
	w.depth--
	if w.filled {
		w.newline()
	}
	w.out = append(w.out, bracket)
	w.filled = true
}

func (w *jsonWriter) newline() {
	if !w.indent {
		return
	}
	w.out = append(w.out, '\n')
	for range w.depth {
		w.out = append(w.out, ' ', ' ')
	}
}

// item begins the next element of an array.
func (w *jsonWriter) item() {
	if w.filled {
		w.out = append(w.out, ',')
	}
	w.newline()
	w.filled = true
}

func (w *jsonWriter) member(name string) {
	w.item()
	w.text(name)
	w.out = append(w.out, ':')
	if w.indent {
		w.out = append(w.out, ' ')
	}
}

// text writes a string of valid UTF-8 with the escapes of RFC 8785, section 3.2.2.2, and no others.
func (w *jsonWriter) text(s string) {
	const short = "\b\t\n\f\r\"\\"
	const letters = "btnfr\"\\"
	w.out = append(w.out, '"')
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			w.out = append(w.out, c)
			continue
		}
		w.out = append(w.out, '\\')
		if at := indexByte(short, c); at >= 0 {
			w.out = append(w.out, letters[at])
			continue
		}
		const hexDigits = "0123456789abcdef"
		w.out = append(w.out, 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
	w.out = append(w.out, '"')
}

func indexByte(s string, c byte) int {
	for i := range len(s) {
		if s[i] == c {
			return i
		}
	}
	return -1
}

func (w *jsonWriter) integer(n int64) { w.out = strconv.AppendInt(w.out, n, 10) }

func (w *jsonWriter) boolean(b bool) { w.out = strconv.AppendBool(w.out, b) }

func (w *jsonWriter) sum(s *Sum) {
	w.out = append(w.out, '"')
	w.out = s.Append(w.out)
	w.out = append(w.out, '"')
}

func (w *jsonWriter) entry(e *Entry) {
	w.open('{')
	w.member("dedupe_key")
	w.text(e.DedupeKey)
	w.member("hits")
	w.integer(e.Hits)
	w.member("lru_rank")
	w.integer(e.LRURank)
	w.member("seen_at")
	w.integer(e.SeenAt)
	w.member("seq")
	w.integer(e.Seq)
	w.member("source")
	w.text(e.Source)
	w.member("tenant")
	w.text(e.Tenant)
	w.close('}')
}

// compareUTF16 is the order of member names in RFC 8785, by UTF-16 code units. It differs from the order of bytes
// only where a character beyond U+FFFF (surrogates, D800–DFFF) meets one of U+E000–U+FFFF.
func compareUTF16(a, b string) int {
	for len(a) > 0 && len(b) > 0 {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if ra != rb {
			return int(unitOrder(ra)) - int(unitOrder(rb))
		}
		a, b = a[na:], b[nb:]
	}
	return len(a) - len(b)
}

// unitOrder moves characters of U+E000–U+FFFF behind all that need surrogates; others keep their order.
func unitOrder(r rune) rune {
	if r >= 0xE000 && r <= 0xFFFF {
		return r + 0x110000
	}
	return r
}
