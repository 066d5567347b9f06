package pebble

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestVerifyTellsLostCommits: where the log is cut or gone, what is left is in order, but no verify may call it sound: the head note
// says that more was on disk.
func TestVerifyTellsLostCommits(t *testing.T) {
	for name, cut := range map[string]func([]byte) []byte{
		"missing": func([]byte) []byte { return nil },
		"half":    func(b []byte) []byte { return b[:len(b)/2] },
	} {
		fs := vfs.NewMem()
		at := spot{dir: "/data", opts: Options{FS: fs, CacheBytes: 1 << 20, NoteEvery: -1}}
		s := at.open(t)
		send(t, s, "1", "2")
		if err := s.db.Flush(); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"3", "4", "5"} {
			send(t, s, id)
		}
		closed(t, s)
		if rep, err := Verify(t.Context(), at.dir, at.opts); err != nil || !rep.OK() {
			t.Fatalf("before: %+v, %v", rep, err)
		}
		log := ""
		for _, path := range files(t, fs, at.dir) {
			if strings.HasSuffix(path, ".log") {
				log = max(log, path)
			}
		}
		spoil(t, fs, log, cut(content(t, fs, log)))
		rep, err := Verify(t.Context(), at.dir, at.opts)
		if err != nil || rep.OK() || rep.LostCommits == 0 || rep.LostCommits > 3 || rep.Messages+rep.LostCommits != 5 || len(rep.Faults) != 1 {
			t.Errorf("%s: %+v, %v", name, rep, err)
		}
	}
}
