package settlement

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

type expectation struct {
	About     string
	Status    int
	Malformed []string
	Report    json.RawMessage
	Closing   []string
	Decisions []string
}

func readExpectation(t *testing.T, dir string) expectation {
	t.Helper()
	var e expectation
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "expect.json"))), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// report is the file's exact text: the expectation holds the members in order, so only the indent is to be made.
func (e *expectation) report(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, e.Report, "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String() + "\n"
}

func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestCases settles every case, compares report, malformed rows, closing and status, and has the health check agree.
func TestCases(t *testing.T) {
	found := 0
	err := filepath.WalkDir(casesDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "expect.json" {
			return err
		}
		dir := filepath.Dir(path)
		name, err := filepath.Rel(casesDir, dir)
		if err != nil || !strings.HasPrefix(name, "G") {
			return err
		}
		found++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settleCase(t, dir)
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 20 {
		t.Errorf("only %d cases were found", found)
	}
}

func settleCase(t *testing.T, from string) {
	want := readExpectation(t, from)
	dir := folder(t, from)
	r := hapax(t, "settle", "--in", dir, "--closing", filepath.Join(dir, "closing.tsv"))
	if r.status != want.Status {
		t.Errorf("status %d, want %d: %s", r.status, want.Status, r.stderr)
	}
	if got := read(t, filepath.Join(dir, "report.json")); got != want.report(t) {
		t.Errorf("report:\n%s\nwant:\n%s", got, want.report(t))
	}
	if got := read(t, filepath.Join(dir, "malformed.tsv")); got != joined(want.Malformed) {
		t.Errorf("malformed rows %q, want %q", got, want.Malformed)
	}
	if got := read(t, filepath.Join(dir, "closing.tsv")); want.Closing != nil && got != joined(want.Closing) {
		t.Errorf("closing %q, want %q", got, want.Closing)
	}
	health := 0
	if len(want.Malformed) > 0 {
		health = 2
	}
	if h := hapax(t, "health", "--in", dir); h.status != health {
		t.Errorf("health gives %d, want %d: %s", h.status, health, h.stdout)
	}
	if want.Decisions != nil {
		decisions(t, dir, want.Decisions)
	}
}

// decisions asks why for the only key of a folder.
func decisions(t *testing.T, dir string, want []string) {
	t.Helper()
	r := hapax(t, "why", "--in", dir, "--json", "acme", "pay", "k")
	var chain struct{ Events []struct{ Decision string } }
	if err := json.Unmarshal([]byte(r.stdout), &chain); err != nil {
		t.Fatalf("why printed %q (%v), status %d: %s", r.stdout, err, r.status, r.stderr)
	}
	var got []string
	for _, e := range chain.Events {
		got = append(got, e.Decision)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("decisions %v, want %v", got, want)
	}
}

// TestVariantsHaveOneReport holds the folders of a case that must not differ in their books against each other.
func TestVariantsHaveOneReport(t *testing.T) {
	for _, name := range []string{"G16", "G17", "G18", "G22"} {
		dirs, err := filepath.Glob(filepath.Join(casesDir, name, "*"))
		if err != nil || len(dirs) < 2 {
			t.Fatalf("%s: %d variants (%v)", name, len(dirs), err)
		}
		first := readExpectation(t, dirs[0])
		for _, dir := range dirs[1:] {
			if e := readExpectation(t, dir); e.report(t) != first.report(t) {
				t.Errorf("%s and %s expect different reports", dirs[0], dir)
			}
		}
	}
}

// TestRunAgain is G18: a second run gives the same bytes and moves the first aside.
func TestRunAgain(t *testing.T) {
	dir := folder(t, filepath.Join(casesDir, "G18/dirty"))
	hapax(t, "settle", "--in", dir)
	first := read(t, filepath.Join(dir, "report.json"))
	hapax(t, "settle", "--in", dir)
	if again := read(t, filepath.Join(dir, "report.json")); again != first {
		t.Errorf("the second run gives\n%s\nafter\n%s", again, first)
	}
	if aside := read(t, filepath.Join(dir, "report.json.stale")); aside != first {
		t.Error("the first report isn't the stale one")
	}
}

// TestTwoPeriods is G31: the closing of the first file is the opening of the second, and together they accept once.
func TestTwoPeriods(t *testing.T) {
	first, second := folder(t, filepath.Join(casesDir, "G31/first")), folder(t, filepath.Join(casesDir, "G31/second"))
	opening := filepath.Join(second, "opening.tsv")
	want := read(t, opening)
	if r := hapax(t, "settle", "--in", first, "--closing", opening); r.status != 0 {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	if got := read(t, opening); got != want {
		t.Errorf("the closing is %q, want %q", got, want)
	}
	if r := hapax(t, "settle", "--in", second); r.status != 0 || !strings.Contains(read(t, filepath.Join(second, "report.json")), `"accept": 0`) {
		t.Errorf("the repeat in the second file isn't measured against the first: status %d", r.status)
	}
}
