//go:build !js

package sqlite

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"hapax/client/store"
)

// TestCorrupt is C17: one clear error, and not a byte overwritten.
func TestCorrupt(t *testing.T) {
	good, err := os.ReadFile(v1Path("plain.db"))
	if err != nil {
		t.Fatal(err)
	}
	foreign := newFile(t).path
	raw(t, foreign, `CREATE TABLE notes (text)`)
	other, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	cut := func(n int) []byte { return bytes.Clone(good[:n]) }
	overwritten := func(from, to int) []byte {
		b := bytes.Clone(good)
		for i := from; i < to; i++ {
			b[i] = 0xA5
		}
		return b
	}
	for name, content := range map[string][]byte{
		"not a database":        []byte(strings.Repeat("this is no database\n", 500)),
		"another's database":    other,
		"cut in the header":     cut(60),
		"cut in page 1":         cut(2000),
		"cut after page 1":      cut(4096),
		"cut in the middle":     cut(len(good) / 2),
		"header overwritten":    overwritten(0, 100),
		"schema overwritten":    overwritten(100, 4096),
		"all pages overwritten": overwritten(4096, len(good)),
	} {
		path := newFile(t).path
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%s: opened: %v", name, err)
			}
		}
		if _, err := Reset(t.Context(), path, Options{}); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: reset: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(content, after) {
			t.Errorf("%s: it was overwritten", name)
		}
	}
}

// TestUnopenable: what is no file at all.
func TestUnopenable(t *testing.T) {
	for _, path := range []string{"", t.TempDir(), t.TempDir() + "/none/outbox.db"} {
		if s, err := Open(t.Context(), path, Options{}); err == nil {
			s.Close()
			t.Errorf("opened %q", path)
		}
	}
	if _, err := Open(t.Context(), newFile(t).path, Options{Key: []byte("short")}); err == nil {
		t.Error("a key of 5 bytes")
	}
}

// TestDamagedPages: a page of a store is overwritten. Each call answers rightly or with ErrCorrupt, and no row comes back changed.
func TestDamagedPages(t *testing.T) {
	good, err := os.ReadFile(v1Path("plain.db"))
	if err != nil {
		t.Fatal(err)
	}
	want := readWanted(t)
	refused := 0
	for at := 4096; at < len(good); at += 4096 {
		b := bytes.Clone(good)
		for i := at; i < at+4096; i++ {
			b[i] ^= 0x5A
		}
		path := newFile(t).path
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("page %d: %v", at/4096, err)
			}
			refused++
			continue
		}
		rows, err := s.List(t.Context(), 0, 100)
		if err != nil || asJSONText(t, rows) != asJSONText(t, want.Rows) {
			t.Errorf("page %d: opened with rows %v, %v", at/4096, rows, err)
		}
		if _, err := s.View(t.Context(), "harbour", 0, 100); err != nil && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("page %d: %v", at/4096, err)
		}
		s.Close()
	}
	if refused < 4 {
		t.Errorf("only %d damaged pages were noticed", refused)
	}
}

func TestPathsOfAnySpelling(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a b?c#d%41.db", "ναῦς.db", "file:x.db", ":memory:"} {
		path := dir + "/" + name
		if err := open(t, path, Options{}).Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// TestPrivate: bodies lie in the log as well as in the file. The shared index (-shm) holds page numbers only.
func TestPrivate(t *testing.T) {
	path := newFile(t).path
	s := open(t, path, Options{})
	fillV1(t, s)
	for _, suffix := range []string{"", "-wal", ".lock"} {
		info, err := os.Stat(path + suffix)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%q: %v, %v", suffix, info.Mode(), err)
		}
	}
}
