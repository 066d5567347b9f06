package audit

import (
	"os"
	"path/filepath"
	"testing"
)

// scenarioDir is the contract's 33-event example.
const scenarioDir = "../../docs/spec/scenario"

// TestScenarioEqualsPublishedResults holds the recomputation against the contract's published report, to the byte.
func TestScenarioEqualsPublishedResults(t *testing.T) {
	books, err := Recompute(scenarioDir)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(scenarioDir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if got := books.Report(); string(got) != string(want) {
		t.Errorf("report:\n%s\nwant:\n%s", got, want)
	}
	if len(books.Malformed) != 0 {
		t.Errorf("malformed rows %v, want none", books.Malformed)
	}
	want3 := []BadRow{{7, "scope"}, {9, "lru_capacity"}, {10, "scope"}}
	if len(books.Skipped) != 3 || [3]BadRow(books.Skipped) != [3]BadRow(want3) {
		t.Errorf("skipped rows %v, want %v", books.Skipped, want3)
	}
}
