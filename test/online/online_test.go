package online

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sync/errgroup"

	"hapax/internal/gateway"
	"hapax/internal/store"
	"hapax/test/agree"
)

const probeScript = "../../probe/probe.mjs"

var (
	streams = flag.Int("streams", 240, "random streams")
	first   = flag.Uint64("seed", 1, "seed of the first")
)

// TestOnlineEqualsBatch is the promise of docs/spec/gateway.md: settling an export gives the online figures, always.
func TestOnlineEqualsBatch(t *testing.T) {
	root := t.TempDir()
	all := make([]*outcome, *streams)
	var group errgroup.Group
	group.SetLimit(2 * runtime.GOMAXPROCS(0)) // they wait for the disk
	for i := range all {
		group.Go(func() (err error) {
			seed := *first + uint64(i)
			medium := NewOnPebble()
			if seed%4 == 0 {
				medium = NewInMemory()
			}
			if all[i], err = stream(seed, medium, filepath.Join(root, strconv.FormatUint(seed, 10))); err != nil {
				err = fmt.Errorf("seed %d: %w", seed, err)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	var folders []Folder
	for _, o := range all {
		folders = append(folders, o.folders...)
		for what, n := range o.seen {
			seen[what] += n
		}
	}
	t.Logf("%d streams, %d folders: %v", *streams, len(folders), seen)
	for _, sight := range sights {
		if seen[sight] < *streams/4 {
			t.Errorf("%s came about %d times: the streams have lost their aim", sight, seen[sight])
		}
	}
	byProbe(t, folders)
}

// sights are what the streams must bring about often enough to be worth their time.
var sights = []string{
	"accept", "duplicate_done", "duplicate_pending", "mismatch", "other currency", "twin of accept", "twin of mismatch", "bad_amount", "unknown_key", "refused", "raised", "restart", "power cut",
	"Register", "Unregister", "SetSource", "Replay", "Discard", "settled true", "settled false",
}

// outcome is what a stream came to.
type outcome struct {
	folders []Folder
	seen    map[string]int
}

// stream runs one world, proves its log and settles what it exports.
func stream(seed uint64, medium Medium, out string) (*outcome, error) {
	w, err := NewWorld(seed, medium)
	if err != nil {
		return nil, err
	}
	var marks []gateway.Head
	for range 3 {
		if err := w.view(func(v store.BooksView) error { marks = append(marks, v.Head()); return nil }); err != nil {
			return nil, err
		}
		if err := w.Run(40); err != nil {
			return nil, err
		}
	}
	o := &outcome{seen: w.Seen}
	err = w.view(func(v store.BooksView) (err error) {
		if o.folders, err = Export(v, out); err != nil {
			return err
		}
		return Prove(v, marks)
	})
	for i := range o.folders {
		if err == nil {
			err = o.folders[i].Settle()
		}
	}
	return o, errors.Join(err, w.Close())
}

// byProbe settles all folders a third time, in one run of Node.
func byProbe(t *testing.T, folders []Folder) {
	t.Helper()
	dirs := make([]string, len(folders))
	for i := range folders {
		dirs[i] = folders[i].Dir
		if err := os.Remove(filepath.Join(dirs[i], "report.json")); err != nil { // the settlement's
			t.Fatal(err)
		}
	}
	all, err := agree.ByProbe(probeScript, dirs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if all[i].Report != folders[i].Report {
			t.Fatalf("probe of %s:\n%s\nonline:\n%s", dirs[i], all[i].Report, folders[i].Report)
		}
	}
}
