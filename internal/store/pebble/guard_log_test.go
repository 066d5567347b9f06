package pebble

import (
	"bytes"
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestALogIsCopiedAsItWas: a log written over an old one is read as far as it was written when it was opened, neither into the old
// bytes nor on into what comes meanwhile. A checkpoint copies it so.
func TestALogIsCopiedAsItWas(t *testing.T) {
	fs := vfs.NewMem()
	g := newGuard(fs)
	file := func(f vfs.File, err error) vfs.File {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	read := func(f vfs.File) string {
		t.Helper()
		all, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		return string(all)
	}
	write := func(f vfs.File, c byte, n int) {
		t.Helper()
		if _, err := f.Write(bytes.Repeat([]byte{c}, n)); err != nil {
			t.Fatal(err)
		}
	}
	old := file(g.Create("000001.log", vfs.WriteCategoryUnspecified))
	write(old, 'o', 100)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	fresh := file(g.ReuseForWrite("000001.log", "000002.log", vfs.WriteCategoryUnspecified))
	write(fresh, 'a', 10)
	reader := file(g.Open("000002.log"))
	write(fresh, 'b', 30)
	if got := read(reader); got != "aaaaaaaaaa" {
		t.Errorf("copied %q", got)
	}
	if err := fresh.Close(); err != nil {
		t.Fatal(err)
	}
	if got := read(file(g.Open("000002.log"))); len(got) < 40 {
		t.Errorf("of a log that is closed %d bytes", len(got))
	}
}
