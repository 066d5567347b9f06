package audit

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// rowsOf reads a text by eachRow, each row as `LINE:column|column`, a broken line as `LINE!`.
func rowsOf(t *testing.T, src io.Reader) (rows []string) {
	t.Helper()
	err := eachRow(src, func(line int, columns [][]byte) error {
		if columns == nil {
			rows = append(rows, fmt.Sprintf("%d!", line))
		} else {
			rows = append(rows, fmt.Sprintf("%d:%s", line, bytes.Join(columns, []byte{'|'})))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestLines(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	cases := []struct {
		name, text string
		want       []string
	}{
		{"empty file", "", nil},
		{"only a mark", "\uFEFF", nil},
		{"only line ends", "\n\r\n\n", nil},
		{"no last newline", "a\tb\nc", []string{"1:a|b", "2:c"}},
		{"last newline", "a\tb\nc\n", []string{"1:a|b", "2:c"}},
		{"mark before a row", "\uFEFFa", []string{"1:a"}},
		{"mark before a comment", "\uFEFF# x\na", []string{"2:a"}},
		{"second mark is text", "\uFEFF\uFEFFa", []string{"1:\uFEFFa"}},
		{"mark on a later line is text", "a\n\uFEFFb", []string{"1:a", "2:\uFEFFb"}},
		{"half a mark", "\xEF\xBBa", []string{"1!"}},
		{"CRLF", "a\r\nb\r\n", []string{"1:a", "2:b"}},
		{"CR before the end of the file", "a\nb\r", []string{"1:a", "2:b"}},
		{"one CR only is the end's", "a\r\r\nb\r\r", []string{"1:a\r", "2:b\r"}},
		{"CR CR LF is a row", "\r\r\n", []string{"1:\r"}},
		{"CR inside is text", "a\rb\n", []string{"1:a\rb"}},
		{"last line of one CR is blank", "a\n\r", []string{"1:a"}},
		{"skipped lines count", "# x\n\n \t \na\n#\nb", []string{"4:a", "6:b"}},
		{"tabs only are blank", "\t\t\t\t\t\t\t\t\n", nil},
		{"other white space isn't blank", "\u00A0\n\v\n\u2003", []string{"1:\u00A0", "2:\v", "3:\u2003"}},
		{"a space before # is no comment", " # x", []string{"1: # x"}},
		{"empty columns", "\ta\t\t\n", []string{"1:|a||"}},
		{"NUL is text", "a\x00b\t\x00", []string{"1:a\x00b|\x00"}},
		{"NUL in a comment", "#\x00\na", []string{"2:a"}},
		{"quotes are text", "\"a\tb\"\n\"", []string{"1:\"a|b\"", "2:\""}},
		{"not UTF-8", "a\xFF\nb", []string{"1!", "2:b"}},
		{"a comment not UTF-8", "#\xFF\nb", []string{"1!", "2:b"}},
		{"blank and not UTF-8", " \xC3\nb", []string{"1!", "2:b"}},
		{"overlong and surrogate forms", "\xC0\x80\n\xED\xA0\x80\n\xF4\x90\x80\x80\n", []string{"1!", "2!", "3!"}},
		{"a character cut by the line's end", "\xE2\x82\n\xAC\n", []string{"1!", "2!"}},
		{"at the limit", x(65_536) + "\nb", []string{"1:" + x(65_536), "2:b"}},
		{"over the limit", x(65_537) + "\nb", []string{"1!", "2:b"}},
		{"the limit doesn't count the line's end", x(65_536) + "\r\nb", []string{"1:" + x(65_536), "2:b"}},
		{"nor the mark", "\uFEFF" + x(65_536) + "\r", []string{"1:" + x(65_536)}},
		{"a second CR counts", x(65_536) + "\r\r\nb", []string{"1!", "2:b"}},
		{"bytes count, not characters", strings.Repeat("é", 32_769) + "\nb", []string{"1!", "2:b"}},
		{"an over-long comment", "#" + x(65_536) + "\nb", []string{"1!", "2:b"}},
		{"a comment at the limit", "#" + x(65_535) + "\nb", []string{"2:b"}},
		{"over-long blanks", strings.Repeat(" ", 65_537) + "\nb", []string{"1!", "2:b"}},
		{"longer than a chunk", "a\n" + x(3*chunkSize) + "\nb\n" + x(chunkSize) + "\r\nc\n" + x(2*chunkSize), []string{"1:a", "2!", "3:b", "4!", "5:c", "6!"}},
		{"longer than a chunk under a mark", "\uFEFF" + x(chunkSize+5) + "\nb", []string{"1!", "2:b"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, src := range []io.Reader{
				strings.NewReader(c.text),
				iotest.DataErrReader(strings.NewReader(c.text)),
				iotest.HalfReader(strings.NewReader(c.text)),
			} {
				if got := rowsOf(t, src); !slices.Equal(got, c.want) {
					t.Errorf("got %.80q, want %.80q", got, c.want)
				}
			}
		})
	}
}

// naiveRows is the contract's paragraph on lines, word by word, on a text held whole.
func naiveRows(text string) (rows []string) {
	text = strings.TrimPrefix(text, "\uFEFF")
	if text == "" {
		return nil
	}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		switch {
		case len(line) > 65_536 || !utf8.ValidString(line):
			rows = append(rows, fmt.Sprintf("%d!", i+1))
		case strings.HasPrefix(line, "#") || strings.Trim(line, " \t") == "":
		default:
			rows = append(rows, fmt.Sprintf("%d:%s", i+1, strings.ReplaceAll(line, "\t", "|")))
		}
	}
	return rows
}

// TestLinesAcrossChunks puts line ends at every place around the chunks' edges.
func TestLinesAcrossChunks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		var text strings.Builder
		for text.Len() < 3*chunkSize {
			n := random.IntN(40)
			if random.IntN(200) == 0 {
				n = 65_536 - 3 + random.IntN(6)
			}
			text.WriteString(strings.Repeat("x", n))
			text.WriteString([]string{"\n", "\r\n", "\r\r\n", "\t\n", "é\n"}[random.IntN(5)])
		}
		source := text.String()[random.IntN(64):]
		if got, want := rowsOf(t, strings.NewReader(source)), naiveRows(source); !slices.Equal(got, want) {
			t.Fatalf("%d rows, want %d", len(got), len(want))
		}
	}
}

func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "\uFEFFa\tb\r\n#\xFF\n \n\r\r\n", "a\r", "\n\r", "\xEF\xBB", "\uFEFF"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := rowsOf(t, strings.NewReader(text)), naiveRows(text); !slices.Equal(got, want) {
			t.Errorf("%q: rows %q, want %q", text, got, want)
		}
	})
}

// TestReadFailureIsNoEnd: a disk that fails in the middle of a file must not shorten it.
func TestReadFailureIsNoEnd(t *testing.T) {
	src := io.MultiReader(strings.NewReader("a\nb\n"), iotest.ErrReader(io.ErrUnexpectedEOF))
	err := eachRow(src, func(int, [][]byte) error { return nil })
	if err != io.ErrUnexpectedEOF {
		t.Errorf("error %v, want the reader's", err)
	}
	src = io.MultiReader(strings.NewReader("a\nb\n"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := readEvents(src, newKeyTable(0, 0)); err == nil {
		t.Error("events of a failing reader were taken for whole")
	}
}
