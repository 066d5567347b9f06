package settlement

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// plainLines is the contract's text on lines, read slowly: the whole file at once.
func plainLines(data []byte) []string {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var lines []string
	for _, line := range strings.SplitAfter(string(data), "\n") {
		if line == "" {
			continue
		}
		line = strings.TrimSuffix(line, "\n")
		lines = append(lines, strings.TrimSuffix(line, "\r"))
	}
	return lines
}

// chunkedLines reads through chunks of a size.
func chunkedLines(t *testing.T, file io.Reader, size int) []string {
	t.Helper()
	c := chunker{file: file}
	var lines []string
	for {
		data, err := c.next(make([]byte, size))
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		for len(data) > 0 {
			var line []byte
			line, data = cutLine(data)
			lines = append(lines, string(line))
		}
	}
}

// checkLines compares both; of a line that is too long only that it is too long counts.
func checkLines(t *testing.T, data []byte, size int) {
	t.Helper()
	want, got := plainLines(data), chunkedLines(t, bytes.NewReader(data), size)
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d, chunks of %d", len(got), len(want), size)
	}
	for i := range want {
		if len(want[i]) > maxLineBytes && len(got[i]) > maxLineBytes {
			continue
		}
		if got[i] != want[i] {
			t.Fatalf("line %d has %d bytes, want %d, chunks of %d", i+1, len(got[i]), len(want[i]), size)
		}
	}
}

func TestChunks(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, text := range map[string]string{
		"empty": "", "mark only": "\xef\xbb\xbf", "two marks": "\xef\xbb\xbf\xef\xbb\xbfa\n", "half a mark": "\xef\xbb", "mark later": "a\n\xef\xbb\xbfb\n",
		"no last newline": "a\nb", "last CR": "a\nb\r", "only CR": "\r", "CR CR LF": "a\r\r\nb\n", "CR inside": "a\rb\n", "blank lines": "\n\n\r\n\n",
		"longest": long(maxLineBytes) + "\r\nb\n", "longest with mark": "\xef\xbb\xbf" + long(maxLineBytes) + "\r\n", "one more": long(maxLineBytes+1) + "\nb\n",
		"far too long": "a\n" + long(500_000) + "\nb\n" + long(300_000), "long at the end": long(200_000), "long of CR": strings.Repeat("\r", 200_000) + "\nb\n",
		"full chunk": long(longLineBytes) + "\n" + long(10) + "\nb\n",
	} {
		t.Run(name, func(t *testing.T) {
			for size := longLineBytes + 1; size < longLineBytes+6; size++ {
				checkLines(t, []byte(text), size)
			}
			checkLines(t, []byte(text), chunkBytes)
		})
	}
}

func TestChunksFromSlowReaders(t *testing.T) {
	text := "\xef\xbb\xbfa\tb\r\n" + strings.Repeat("y", 60_000) + "\n\nc"
	want := chunkedLines(t, strings.NewReader(text), chunkBytes)
	for name, slow := range map[string]io.Reader{
		"byte by byte":  iotest.OneByteReader(strings.NewReader(text)),
		"data with EOF": iotest.DataErrReader(strings.NewReader(text)),
	} {
		if got := chunkedLines(t, slow, longLineBytes+1); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: other lines", name)
		}
	}
	broken := errors.New("broken disk")
	c := chunker{file: io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken))}
	if _, err := c.next(make([]byte, chunkBytes)); !errors.Is(err, broken) {
		t.Errorf("a read error is %v", err)
	}
}

func FuzzChunks(f *testing.F) {
	f.Add([]byte("a\r\nb\n\nc"), byte(0), uint32(0))
	f.Add([]byte("\xef\xbb\xbfa\nb"), byte('x'), uint32(65_530))
	f.Fuzz(func(t *testing.T, data []byte, filler byte, fill uint32) {
		// A fuzzer finds no long lines by itself: one is put in the middle.
		middle := bytes.Repeat([]byte{filler}, int(fill%200_000))
		data = append(append(append([]byte{}, data...), middle...), data...)
		checkLines(t, data, longLineBytes+1+int(fill%7))
	})
}

func TestEachLineCountsAllLines(t *testing.T) {
	var got []string
	err := eachLine(strings.NewReader("# a\n\nb\n"), func(number int64, line []byte) error {
		got = append(got, fmt.Sprintf("%d:%s", number, line))
		return nil
	})
	if want := "[1:# a 2: 3:b]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v (%v), want %s", got, err, want)
	}
}
