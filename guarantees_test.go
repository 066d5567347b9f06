package hapax

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest  = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	testFunc   = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
	faultEntry = regexp.MustCompile(`^[A-I][0-9]+$`)
	place      = regexp.MustCompile(`\bin ([a-z0-9/]+)`)
	titled     = regexp.MustCompile(`"([^"]+)" in \[([a-z0-9/.-]+\.ts)\]`)
	link       = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
)

// TestHouseGuarantees holds docs/guarantees.md to the tests that it names: each stands in the folder named after it.
func TestHouseGuarantees(t *testing.T) {
	text, err := os.ReadFile("docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, promise := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(promise, "Each promise") || strings.HasPrefix(promise, "here doesn't") {
			continue
		}
		named += namedGoTests(t, promise)
	}
	if named < 40 {
		t.Errorf("only %d tests are named", named)
	}
}

// TestHouseGuaranteesOfTheWeb holds it to the titles of the tests in TypeScript that it names.
func TestHouseGuaranteesOfTheWeb(t *testing.T) {
	text, err := os.ReadFile("docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	if named := namedWebTests(t, string(text)); named < 5 {
		t.Errorf("only %d tests are named", named)
	}
}

// TestHouseFaults holds docs/faults.md to the tests that it names, one at least for each entry.
func TestHouseFaults(t *testing.T) {
	text, err := os.ReadFile("docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	entries := 0
	for _, line := range strings.Split(string(text), "\n") {
		columns := strings.Split(line, "|")
		if len(columns) != 6 || !faultEntry.MatchString(strings.TrimSpace(columns[1])) {
			continue
		}
		entries++
		entry, tests, remark := strings.TrimSpace(columns[1]), strings.TrimSpace(columns[3]), strings.TrimSpace(columns[4])
		if tests == "left" && remark != "" {
			continue
		}
		if namedGoTests(t, tests)+namedWebTests(t, tests) == 0 {
			t.Errorf("%s names no test", entry)
		}
	}
	if entries < 70 {
		t.Errorf("only %d entries", entries)
	}
}

// namedGoTests counts the tests that a line names, "`TestA`, `TestB` in a/folder; …", each of which must stand in its folder.
func namedGoTests(t *testing.T, line string) (named int) {
	t.Helper()
	for _, part := range strings.Split(line, ";") {
		tests := namedTest.FindAllStringSubmatchIndex(part, -1)
		if len(tests) == 0 {
			continue
		}
		where := place.FindAllStringSubmatch(part[tests[len(tests)-1][1]:], -1)
		if len(where) == 0 {
			t.Errorf("no folder is named after %q", part)
			continue
		}
		there := testsIn(t, where[0][1])
		for _, m := range tests {
			named++
			if name := part[m[2]:m[3]]; !there[name] {
				t.Errorf("%s isn't in %s", name, where[0][1])
			}
		}
	}
	return named
}

// namedWebTests counts the tests in TypeScript that a text names, `"title" in [path]`, each of which must stand in its file.
func namedWebTests(t *testing.T, text string) int {
	t.Helper()
	named := titled.FindAllStringSubmatch(text, -1)
	for _, m := range named {
		if source, err := os.ReadFile(m[2]); err != nil || !strings.Contains(string(source), `"`+m[1]+`"`) {
			t.Errorf("%q isn't in %s (%v)", m[1], m[2], err)
		}
	}
	return len(named)
}

func testsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Errorf("no tests in %s: %v", dir, err)
	}
	there := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			there[m[1]] = true
		}
	}
	return there
}

// TestHouseLinks holds the links of the documents to files that exist.
func TestHouseLinks(t *testing.T) {
	seen := 0
	check := func(file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.HasPrefix(m[1], "http") || strings.HasPrefix(m[1], "mailto") {
				continue
			}
			seen++
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s: the link %s leads nowhere", file, m[1])
			}
		}
	}
	check("README.md")
	err := filepath.WalkDir("docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") && !strings.HasPrefix(path, filepath.Join("docs", "spec")) {
			check(path)
		}
		return err
	})
	if err != nil || seen < 30 {
		t.Errorf("%d links, %v", seen, err)
	}
}
