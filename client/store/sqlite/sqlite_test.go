//go:build !js

package sqlite

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"hapax/client/ids"
	"hapax/client/store"
	"hapax/client/store/storetest"
)

// unsynced spares the suite thousands of waits for the disk. What is promised of power loss is shown in power_test.go, with syncs.
const unsynced = `PRAGMA synchronous = OFF`

var rewriteV1 = flag.Bool("write-v1", false, "write the files of version 1 in testdata anew")

// TestMain bounds the random histories: each opens files, and memory's run has many more.
func TestMain(m *testing.M) {
	if child := os.Getenv(childMode); child != "" {
		os.Exit(runChild(child))
	}
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// file is a store's file in a folder of its own.
type file struct {
	testing.TB
	path string
	key  []byte
}

func newFile(tb testing.TB) file { return file{TB: tb, path: filepath.Join(tb.TempDir(), "outbox.db")} }

func (f file) Open(l store.Limits) (store.Store, error) {
	return Open(f.Context(), f.path, Options{Limits: l, Key: f.key, pragma: unsynced})
}

// Crashed copies the file and its log, as they are: what the kernel holds when a process is killed.
func (f file) Crashed() storetest.Medium {
	c := newFile(f.TB)
	c.key = f.key
	for _, suffix := range []string{"", "-wal"} {
		copyFile(f.TB, f.path+suffix, c.path+suffix)
	}
	return c
}

func copyFile(tb testing.TB, from, to string) {
	tb.Helper()
	in, err := os.Open(from)
	if os.IsNotExist(err) {
		return
	}
	if err != nil {
		tb.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		tb.Fatal(err)
	}
	if err := out.Close(); err != nil {
		tb.Fatal(err)
	}
}

// raw runs a script on a file behind the store's back.
func raw(tb testing.TB, path, sql string) {
	tb.Helper()
	conn, err := sqlite3.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Exec(sql); err != nil {
		tb.Fatal(err)
	}
}

func (f file) SetMark(d ids.Device, mark []byte) {
	f.Helper()
	sql := `DELETE FROM marks WHERE device = x'` + d.String() + `';`
	if mark != nil {
		sql += `INSERT INTO marks VALUES (x'` + d.String() + `', ` + sqlite3.Quote(mark) + `);`
	}
	raw(f.TB, f.path, sql)
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) storetest.Medium { return newFile(tb) })
}

func TestContractSealed(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) storetest.Medium {
		f := newFile(tb)
		f.key = []byte("0123456789abcdef0123456789abcdef")
		return f
	})
}
