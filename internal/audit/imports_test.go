package audit

import (
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestImportsStandardLibraryOnly is what makes the recomputation independent: no package of this module, none of
// anybody else, in the code or in its tests.
func TestImportsStandardLibraryOnly(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			seen++
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(path, "/")
			if first == "hapax" || first == "C" || strings.Contains(first, ".") {
				t.Errorf("%s imports %s", entry.Name(), path)
			}
		}
	}
	if seen == 0 {
		t.Error("no import seen: the test looks at nothing")
	}
}
