package agree

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hapax/internal/audit"
)

const scenarioDir = "../../docs/spec/scenario"

// edit replaces one place of the probe's text by a fault.
type edit struct{ right, wrong string }

var (
	letBadRowsIn   = edit{"if (fault(columns, [6, 7], DEDUPE)) continue;", ""}
	anchorOnFirst  = edit{"predecessors.set(e.key, {", "if (!before) predecessors.set(e.key, {"}
	ignoreTheScope = edit{"before.scope === scope)", "true)"}
)

// TestReadmeFaults puts the faults of the scenario's README into the probe: each gives its published wrong table, and
// a health check of the wrong report turns red.
func TestReadmeFaults(t *testing.T) {
	cases := []struct {
		name   string
		faults []edit
		want   string // accept, dedupe, reject, unknown_key, accepted_total, tenant-alpha
	}{
		{"none", nil, "22 5 6 4 249.30 217.40"},
		{"bad registry rows are let in", []edit{letBadRowsIn}, "24 5 4 2 262.30 230.40"},
		{"the anchor is the first event", []edit{anchorOnFirst}, "23 4 6 4 252.30 217.40"},
		{"scopes are ignored", []edit{ignoreTheScope}, "20 7 6 4 243.30 217.40"},
		{"all three", []edit{letBadRowsIn, anchorOnFirst, ignoreTheScope}, "23 6 4 2 259.30 230.40"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report := faultyReport(t, c.faults)
			if got := table(t, report); got != c.want {
				t.Errorf("table %q, want %q", got, c.want)
			}
			path := filepath.Join(t.TempDir(), "report.json")
			if err := os.WriteFile(path, []byte(report), 0o644); err != nil {
				t.Fatal(err)
			}
			verdict, err := audit.Health(scenarioDir, path)
			if err != nil {
				t.Fatal(err)
			}
			want := 1
			if c.faults == nil {
				want = 0
			}
			if verdict.Status != want {
				t.Errorf("health gives %d, want %d: %s", verdict.Status, want, verdict.Line())
			}
		})
	}
}

// faultyReport is what a probe with faults makes of the scenario.
func faultyReport(t *testing.T, faults []edit) string {
	t.Helper()
	source, err := os.ReadFile(probeScript)
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	for _, f := range faults {
		if strings.Count(text, f.right) != 1 {
			t.Fatalf("the probe doesn't hold %q once: the fault no longer applies", f.right)
		}
		text = strings.Replace(text, f.right, f.wrong, 1)
	}
	script := filepath.Join(t.TempDir(), "probe.mjs")
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	readings, err := ByProbe(script, []string{scenarioDir})
	if err != nil {
		t.Fatal(err)
	}
	return readings[0].Report
}

func table(t *testing.T, report string) string {
	t.Helper()
	var r struct {
		Counts struct {
			Accept, Dedupe, Reject int
			UnknownKey             int `json:"unknown_key"`
		}
		AcceptedTotal string            `json:"accepted_total"`
		TenantTotals  map[string]string `json:"tenant_totals"`
	}
	if err := json.Unmarshal([]byte(report), &r); err != nil {
		t.Fatalf("%v: %s", err, report)
	}
	return fmt.Sprintf("%d %d %d %d %s %s",
		r.Counts.Accept, r.Counts.Dedupe, r.Counts.Reject, r.Counts.UnknownKey, r.AcceptedTotal, r.TenantTotals["tenant-alpha"])
}

// TestProbeCommandLine runs the probe as the page at its head says.
func TestProbeCommandLine(t *testing.T) {
	want, err := os.ReadFile(filepath.Join(scenarioDir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	spoilt := Scenario{
		"policy.tsv": "BLOCK_WINDOW_S\t1\nSCOPE_STRICT\t0\nLRU_MIN_HITS\t1\n",
		"dedupe.tsv": "", "events.tsv": "x\ny\t\t\t\t\t\t\t\t\n",
	}
	dir := t.TempDir()
	if err := spoilt.Write(dir); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		args   []string
		status int
		stdout string
		stderr string
	}{
		{[]string{scenarioDir}, 2, string(want), ""},
		{[]string{filepath.Join(dir, "nowhere")}, 3, "", "unreadable:policy.tsv\n"},
		{[]string{}, 64, "", "usage: node probe.mjs DIR | --batch\n"},
		{[]string{dir}, 2, emptyReport, "1\tcolumns\n2\tseq\n"},
	}
	for _, c := range cases {
		stdout, stderr, status := runNode(t, append([]string{probeScript}, c.args...)...)
		if stdout != c.stdout || stderr != c.stderr || status != c.status {
			t.Errorf("probe %v: status %d, %q, %q; want %d, %q, %q", c.args, status, stdout, stderr, c.status, c.stdout, c.stderr)
		}
	}
}

const emptyReport = `{
  "accepted_total": "0.00",
  "checksum": "9f0df74b85322b08",
  "counts": {
    "accept": 0,
    "bad_amount": 0,
    "dedupe": 0,
    "duplicate_done": 0,
    "duplicate_pending": 0,
    "events": 0,
    "reject": 0,
    "unknown_key": 0
  },
  "deduped_amount": "0.00",
  "lru": [],
  "ok": true,
  "tenant_totals": {},
  "window_hits": 0
}
`

func runNode(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	node := exec.Command("node", args...)
	var out, errs strings.Builder
	node.Stdout, node.Stderr = &out, &errs
	if err := node.Run(); err != nil && node.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), node.ProcessState.ExitCode()
}
