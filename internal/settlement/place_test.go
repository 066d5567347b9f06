package settlement

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFoldersAreNoEarlierOutputs: a folder in an output's place, be it that of the inputs, isn't moved aside; it is
// wrong usage, and nothing else is moved either.
func TestFoldersAreNoEarlierOutputs(t *testing.T) {
	dir := put(t, emptyFolder(t), map[string]string{ReportFile: "yesterday"})
	sub := put(t, filepath.Join(dir, "sub"), map[string]string{"kept": ""})
	for name, p := range map[string]Paths{
		"report":    {Dir: dir, Report: sub},
		"inputs":    {Dir: dir, Report: dir},
		"malformed": {Dir: dir, Malformed: sub},
		"closing":   {Dir: dir, Closing: sub},
	} {
		if _, err := Run(context.Background(), Options{Paths: p}); err == nil || Status(err) != 64 {
			t.Errorf("%s: %v, want status 64", name, err)
		}
		for _, kept := range []string{ReportFile, "sub/kept"} {
			if _, err := os.Stat(filepath.Join(dir, kept)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestClosingOfANameThatLooksLikeAMark: what a closing says is what the next period reads, also where its first bytes
// are those of a byte-order mark.
func TestClosingOfANameThatLooksLikeAMark(t *testing.T) {
	const key = "\ufefftenant\tsource\tkey"
	dir := put(t, t.TempDir(), map[string]string{
		PolicyFile: "BLOCK_WINDOW_S\t10\nSCOPE_STRICT\t0\nLRU_MIN_HITS\t1\n",
		DedupeFile: "# the mark of a file isn't a name's\n" + key + "\twire\t0\t1\n",
		EventsFile: "1\t" + key + "\t\t5\t1\tdone\t0\n",
	})
	if _, err := Run(context.Background(), Options{Paths: Paths{Dir: dir, Closing: filepath.Join(dir, "closing.tsv")}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "closing.tsv"), filepath.Join(dir, OpeningFile)); err != nil {
		t.Fatal(err)
	}
	result, err := Run(context.Background(), Options{Paths: Paths{Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Report.Totals.Counts.DuplicateDone; got != 1 {
		t.Errorf("%d duplicates of the period before, want 1", got)
	}
}

// TestFailingDiskIsTheMachines: only what lies with the file makes it unreadable.
func TestFailingDiskIsTheMachines(t *testing.T) {
	for _, c := range []struct {
		err          error
		fact, policy int
	}{
		{fs.ErrNotExist, 2, 3}, {syscall.EACCES, 2, 3}, {syscall.EPERM, 2, 3}, {syscall.EISDIR, 2, 3},
		{syscall.ENOTDIR, 2, 3}, {syscall.ELOOP, 2, 3}, {syscall.ENAMETOOLONG, 2, 3},
		{syscall.EIO, 70, 70}, {syscall.EMFILE, 70, 70}, {errors.New("anything else"), 70, 70},
	} {
		err := fmt.Errorf("read: %w", &fs.PathError{Op: "read", Path: "x", Err: c.err})
		if got := Status(inputFault(EventsFile, err)); got != c.fact {
			t.Errorf("%v in a fact: %d, want %d", c.err, got, c.fact)
		}
		if got := Status(policyFault(err)); got != c.policy {
			t.Errorf("%v in the policy: %d, want %d", c.err, got, c.policy)
		}
	}
	if err := policyFault(contractFault("x")); Status(err) != 3 {
		t.Error(err)
	}
}
