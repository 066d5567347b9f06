package cases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// excluded are the cases that are no files here, each with its reason. One that is proved elsewhere names where: a folder of tables that
// hapax settle is held to (TestCases in test/settlement), or a test.
var excluded = map[string]struct{ why, folder, test string }{
	"R09": {why: "needs several server processes on one store: it comes with PostgreSQL"},
	"R23": {why: "needs browser tabs: it is run in a browser"},
	"G17": {why: "is about files alone", folder: "../../testdata/cases/G17"},
	"G23": {why: "is about files, and breaks each in turn", folder: "../../testdata/cases/G23", test: "func TestEachPartBrokenInTurn in ../settlement/tamper_test.go"},
	"G24": {why: "is about the tests themselves", test: "func TestGate in ../mutate/gate_test.go"},
	"G25": {why: "is about files alone", folder: "../../testdata/cases/G25"},
	"G31": {why: "is about files of two periods", folder: "../../testdata/cases/G31"},
	"G32": {why: "is about a run of hapax settle that is killed", folder: "../../testdata/cases/G32", test: "func TestKilledWhileReading in ../settlement/unix_test.go"},
}

// TestExcludedCasesAreProvedElsewhere looks whether what they name is there.
func TestExcludedCasesAreProvedElsewhere(t *testing.T) {
	for id, e := range excluded {
		if e.why == "" || id[0] == 'G' && e.folder == "" && e.test == "" {
			t.Errorf("%s: without a reason, or proved nowhere", id)
		}
		if e.folder != "" {
			if found, err := filepath.Glob(e.folder + "/*"); err != nil || len(found) == 0 {
				t.Errorf("%s: nothing is in %s", id, e.folder)
			}
		}
		if e.test == "" {
			continue
		}
		name, path, _ := strings.Cut(e.test, " in ")
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), name+"(") {
			t.Errorf("%s: no %s in %s (%v)", id, name, path, err)
		}
	}
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
		if found && len(id) == 3 && (id[0] == 'R' || id[0] == 'C' || id[0] == 'G') && id[1] >= '0' && id[1] <= '9' {
			listed[id] = true
		}
	}
	if len(listed) < 83 {
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
		if here[id] == (excluded[id].why != "") {
			t.Errorf("%s: a file is here: %v; excluded: %q", id, here[id], excluded[id].why)
		}
	}
	for id := range excluded {
		if !listed[id] {
			t.Errorf("%s is excluded, but no case", id)
		}
	}
}
