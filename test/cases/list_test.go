package cases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// excluded are the cases that are no files here, each with its reason.
var excluded = map[string]string{
	"R09": "needs several server processes on one store: it comes with PostgreSQL",
	"R23": "needs browser tabs: it is run in a browser",
}

// TestEveryCaseIsHere holds the files against the list of cases.
func TestEveryCaseIsHere(t *testing.T) {
	text, err := os.ReadFile("../../docs/spec/cases.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.SplitSeq(string(text), "\n") {
		id, _, found := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if found && len(id) == 3 && (id[0] == 'R' || id[0] == 'C') && id[1] >= '0' && id[1] <= '9' {
			listed[id] = true
		}
	}
	if len(listed) < 51 {
		t.Fatalf("only %d cases are listed", len(listed))
	}
	here := map[string]bool{}
	for _, path := range caseFiles(t) {
		id := strings.TrimSuffix(filepath.Base(path), ".json")
		if here[id] = true; !listed[id] {
			t.Errorf("%s is no case of docs/spec/cases.md", id)
		}
	}
	for id := range listed {
		if here[id] == (excluded[id] != "") {
			t.Errorf("%s: a file is here: %v; excluded: %q", id, here[id], excluded[id])
		}
	}
	for id := range excluded {
		if !listed[id] {
			t.Errorf("%s is excluded, but no case", id)
		}
	}
}
