package pebble

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/storetest"
)

// earlier is a copy of the folder in testdata that the last program of format 1 left: the messages 1 to 4 of the room r, and a gateway's log.
func earlier(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS("testdata/format-1")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func formatOf(t *testing.T, dir string) (line string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, fileFormat))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// raisedWhole looks whether a raised store holds what the earlier format held, and nothing is wrong with it.
func raisedWhole(t *testing.T, dir string) {
	t.Helper()
	s := disk(dir).open(t)
	if s.self.Format != format || formatOf(t, dir) != "hapax-store 2\n" {
		t.Fatalf("format %d, line %q", s.self.Format, formatOf(t, dir))
	}
	for i, out := range send(t, s, "1", "2", "3", "4", "5") {
		if want := i == 4; (out.Kind == room.Accepted) != want || out.Result.Seq != int64(i+1) {
			t.Fatalf("message %d: %+v", i+1, out)
		}
	}
	err := s.ViewBooks(t.Context(), func(v store.BooksView) error {
		storetest.FoldsTo(t, v)
		if v.Head().Number == 0 {
			t.Error("the gateway's log is empty")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	if rep, err := Verify(t.Context(), dir, disk(dir).opts); err != nil || !rep.OK() || rep.Messages != 5 {
		t.Fatalf("%v %+v", err, rep)
	}
}

// TestFormat1IsRaised: a folder of the release before is raised when it is opened, by itself and by a restore, with all that it holds.
func TestFormat1IsRaised(t *testing.T) {
	dir := earlier(t)
	raisedWhole(t, dir)
	raisedWhole(t, earlier(t)) // and the testdata is as it was

	old, backup, restored := earlier(t), filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	if err := Backup(t.Context(), old, backup, disk(old).opts); err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), backup, restored, disk(old).opts); err != nil {
		t.Fatal(err)
	}
	if formatOf(t, backup) != "hapax-store 1\n" {
		t.Fatalf("the backup has another format than its store: %q", formatOf(t, backup))
	}
	raisedWhole(t, restored)
}

// TestFormat1IsReadAsItIs: what only reads a folder of the release before leaves it to that release.
func TestFormat1IsReadAsItIs(t *testing.T) {
	dir := earlier(t)
	before := picture(t, vfs.Default, dir)
	rep, err := Verify(t.Context(), dir, disk(dir).opts)
	if err != nil || !rep.OK() || rep.Messages != 4 || rep.Records == 0 {
		t.Fatalf("%v %+v", err, rep)
	}
	if err := Backup(t.Context(), dir, dir+".backup", disk(dir).opts); err != nil {
		t.Fatal(err)
	}
	if picture(t, vfs.Default, dir) != before {
		t.Fatal("the folder was changed")
	}
}

// TestFormatRaisedWhole: a start that is cut off while it raises a store is done again by the next one, and the release before refuses what it left.
func TestFormatRaisedWhole(t *testing.T) {
	dir := earlier(t)
	cut, runs := errors.New("cut off"), 0
	defer func(was []func(*Store) error) { raises[2] = was }(raises[2])
	raises[2] = append(raises[2], func(*Store) error {
		if runs++; runs == 1 {
			return cut
		}
		return nil
	})
	if _, err := Open(dir, disk(dir).opts); !errors.Is(err, cut) {
		t.Fatal(err)
	}
	if formatOf(t, dir) != "hapax-store 2\n" {
		t.Fatalf("a program of format 1 would open a store that is half raised: %q", formatOf(t, dir))
	}
	raisedWhole(t, dir)
	if runs != 2 {
		t.Fatalf("raised %d times, want 2", runs)
	}
}
