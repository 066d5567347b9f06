package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder is a scenario in a test: the policy and the registry have a plain default.
type folder struct {
	policy, dedupe, events string // rows
	opening                string // rows; none: no file
	strict                 bool
}

const (
	plainPolicy  = "BLOCK_WINDOW_S\t120\nSCOPE_STRICT\t0\nLRU_MIN_HITS\t1\n"
	strictPolicy = "BLOCK_WINDOW_S\t120\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t1\n"
	plainDedupe  = "t\ts\tk\twire\t0\t8\n"
)

// write puts the files into a new folder.
func (f folder) write(t *testing.T) string {
	t.Helper()
	if f.policy == "" {
		f.policy = plainPolicy
		if f.strict {
			f.policy = strictPolicy
		}
	}
	if f.dedupe == "" {
		f.dedupe = plainDedupe
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, policyFile), f.policy)
	writeFile(t, filepath.Join(dir, dedupeFile), f.dedupe)
	writeFile(t, filepath.Join(dir, eventsFile), f.events)
	if f.opening != "" {
		writeFile(t, filepath.Join(dir, openingFile), f.opening)
	}
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// books works the folder out; it must be readable.
func (f folder) books(t *testing.T) *Books {
	t.Helper()
	books, err := Recompute(f.write(t))
	if err != nil {
		t.Fatal(err)
	}
	return books
}

// counts of a folder, by name.
func (f folder) counts(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	if err := json.Unmarshal(f.books(t).fields["counts"], &counts); err != nil {
		t.Fatal(err)
	}
	return counts
}

// field is a field's canonical text.
func (f folder) field(t *testing.T, name string) string {
	t.Helper()
	return string(f.books(t).fields[name])
}

// badRows writes rows as `LINE REASON`, for comparing.
func badRows(rows []BadRow) string {
	text := make([]string, len(rows))
	for i, row := range rows {
		text[i] = fmt.Sprintf("%d %s", row.Line, row.Reason)
	}
	return strings.Join(text, ", ")
}
