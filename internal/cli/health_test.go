package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scenario copies the contract's example, its published report with it, into a new folder.
func healthScenario(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for from, to := range map[string]string{
		"policy.tsv": "policy.tsv", "dedupe.tsv": "dedupe.tsv", "events.tsv": "events.tsv", "expected.json": "report.json",
	} {
		text, err := os.ReadFile(filepath.Join("../../docs/spec/scenario", from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestHealthCommand(t *testing.T) {
	const skipped = "dedupe.tsv:7: row skipped: scope\ndedupe.tsv:9: row skipped: lru_capacity\ndedupe.tsv:10: row skipped: scope\n"
	dir := healthScenario(t)
	broken := filepath.Join(dir, "broken.json")
	if err := os.WriteFile(broken, []byte(`{"ok":1`), 0o644); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(dir, "wrong.json")
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(wrong, []byte(strings.Replace(string(text), "249.30", "249.3", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		args           []string
		status         int
		stdout, stderr string // stderr: what it begins with
	}{
		{[]string{"--in", dir}, 0, `{"checks":8,"degraded":false,"issues":[],"rc":0}` + "\n", skipped},
		{[]string{"--in", dir, "--report", filepath.Join(dir, "report.json")}, 0, `{"checks":8,"degraded":false,"issues":[],"rc":0}` + "\n", skipped},
		{[]string{"--in", dir, "--report", wrong}, 1, `{"checks":8,"degraded":true,"issues":["mismatch:accepted_total: expect=\"249.30\" actual=\"249.3\""],"rc":1}` + "\n", skipped},
		{[]string{"--in", dir, "--report", broken}, 2, `{"checks":0,"degraded":true,"issues":["unreadable:broken.json"],"rc":2}` + "\n", "broken.json: not exactly one JSON object"},
		{[]string{"--in", filepath.Join(dir, "nowhere")}, 3, `{"checks":0,"degraded":true,"issues":["contract:policy.tsv: no such file or directory"],"rc":3}` + "\n", ""},
		{nil, 64, "", "hapax: "},
		{[]string{"--in", ""}, 64, "", "hapax: "},
		{[]string{"--in", dir, "--report", ""}, 64, "", "hapax: "},
		{[]string{"--in", dir, "more"}, 64, "", "hapax: "},
		{[]string{"--in", dir, "--fix"}, 64, "", "hapax: "},
	}
	for _, c := range cases {
		var stdout, stderr strings.Builder
		status := Main(append([]string{"health"}, c.args...), strings.NewReader(""), &stdout, &stderr)
		if status != c.status || stdout.String() != c.stdout || !strings.HasPrefix(stderr.String(), c.stderr) {
			t.Errorf("health %q: status %d, %q, %q; want %d, %q, %q", c.args, status, stdout.String(), stderr.String(), c.status, c.stdout, c.stderr)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestHealthThatCantSpeak: a verdict that can't be printed is the machine's failure, not a verdict.
func TestHealthThatCantSpeak(t *testing.T) {
	var stderr strings.Builder
	if status := Main([]string{"health", "--in", healthScenario(t)}, strings.NewReader(""), fullDisk{}, &stderr); status != ExitMachine {
		t.Errorf("status %d, want %d", status, ExitMachine)
	}
	var stdout strings.Builder
	if status := Main([]string{"health", "--in", healthScenario(t)}, strings.NewReader(""), &stdout, fullDisk{}); status != ExitOK || stdout.Len() == 0 {
		t.Errorf("a deaf standard error changed the verdict: status %d, %q", status, stdout.String())
	}
}
