package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	goodPolicy = "BLOCK_WINDOW_S\t100\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t1\n"
	goodDedupe = "t\ts\tk\twire\t0\t8\n"
	goodEvents = "1\tt\ts\tk\t\t1000\t2.50\tdone\t1\n2\tt\ts\tk\t\t1100\t2.50\tdone\t2\n3\tt\ts\tk\t\t5000\t2.50\tdone\t3\n"
)

// settleFolder makes a good folder with an earlier report, changed by pairs of name and text; an empty text removes.
func settleFolder(t *testing.T, changes ...string) string {
	t.Helper()
	files := map[string]string{"policy.tsv": goodPolicy, "dedupe.tsv": goodDedupe, "events.tsv": goodEvents, "report.json": "yesterday"}
	for i := 0; i < len(changes); i += 2 {
		files[changes[i]] = changes[i+1]
	}
	dir := t.TempDir()
	for name, text := range files {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func runMain(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = Main(args, strings.NewReader(""), &out, &err)
	return status, out.String(), err.String()
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestSettleStatuses: each status of contract.md, with a report exactly where it says so.
func TestSettleStatuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes []string
		status  int
		report  bool
	}{
		{"good", nil, 0, true},
		{"rejected", []string{"dedupe.tsv", "# none\n"}, 2, true},
		{"malformed", []string{"events.tsv", goodEvents + "x\n"}, 2, true},
		{"contract", []string{"policy.tsv", "BLOCK_WINDOW_S\t1\n"}, 3, false},
		{"no policy", []string{"policy.tsv", ""}, 3, false},
		{"no registry", []string{"dedupe.tsv", ""}, 2, false},
		{"no events", []string{"events.tsv", ""}, 2, false},
		{"broken opening", []string{"opening.tsv", "x\n"}, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := settleFolder(t, c.changes...)
			status, _, stderr := runMain("settle", "--in", dir)
			if status != c.status || there(filepath.Join(dir, "report.json")) != c.report {
				t.Errorf("status %d, report %t, want %d %t: %s", status, there(filepath.Join(dir, "report.json")), c.status, c.report, stderr)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "report.json.stale")); err != nil || string(got) != "yesterday" {
				t.Errorf("yesterday's report is %q (%v)", got, err)
			}
		})
	}
}

func TestSettleUsage(t *testing.T) {
	dir := settleFolder(t)
	for _, args := range [][]string{
		{"settle"}, {"settle", "--in", dir, "more"}, {"settle", "--in", dir, "--unknown"}, {"settle", "--in", dir, "--memory", "x"},
		{"settle", "--in", dir, "--memory", "1MiB"}, {"settle", "--in", dir, "--closing", filepath.Join(dir, "events.tsv")},
		{"settle", "--in", dir, "--closing", filepath.Join(dir, "opening.tsv")}, {"settle", "--in", dir, "--report", ""}, {"settle", "--in", dir, "--closing", ""},
		{"settle", "generate"}, {"settle", "generate", "--out", dir, "--events", "0"},
		{"why", "--in", dir, "t", "s"}, {"why", "t", "s", "k"}, {"why", "--in", dir, "t", "s", " k"},
		{"advise"}, {"advise", "--in", dir, "--window", "-1"}, {"advise", "--in", dir, "--memory", "-5"},
	} {
		if status, _, stderr := runMain(args...); status != ExitUsage || stderr == "" {
			t.Errorf("%v: status %d, want 64: %q", args, status, stderr)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "report.json")); err != nil || string(got) != "yesterday" {
		t.Errorf("wrong usage touched the report: %q (%v)", got, err)
	}
}

// TestSettleUsageIs64 names the number: scripts know it.
func TestSettleUsageIs64(t *testing.T) {
	if status, _, _ := runMain("settle"); status != 64 {
		t.Errorf("status %d", status)
	}
}

// brokenWriter fails or panics with every write.
type brokenWriter struct{ panics bool }

func (w brokenWriter) Write([]byte) (int, error) {
	if w.panics {
		panic("planted")
	}
	return 0, errors.New("broken pipe")
}

// TestSettleMachineFailures: 70, never 2, and no report.
func TestSettleMachineFailures(t *testing.T) {
	for name, stdout := range map[string]io.Writer{"failing summary": brokenWriter{}, "panicking summary": brokenWriter{panics: true}} {
		dir := settleFolder(t)
		var stderr bytes.Buffer
		if status := Main([]string{"settle", "--in", dir}, strings.NewReader(""), stdout, &stderr); status != ExitMachine {
			t.Errorf("%s: status %d, want 70: %s", name, status, stderr.String())
		}
		if there(filepath.Join(dir, "report.json")) {
			t.Errorf("%s: there is a report", name)
		}
	}
	dir := settleFolder(t)
	if status, _, stderr := runMain("settle", "--in", dir, "--report", filepath.Join(dir, "missing", "report.json")); status != ExitMachine {
		t.Errorf("a report that can't be written: status %d, want 70: %s", status, stderr)
	}
}

func TestSettleSummaries(t *testing.T) {
	dir := settleFolder(t, "dedupe.tsv", goodDedupe+"bad row\n")
	status, stdout, stderr := runMain("settle", "--in", dir, "--json", "--closing", filepath.Join(dir, "closing.tsv"))
	var summary struct {
		RC                             int
		OK                             bool
		Report, Closing, Checksum      string
		Malformed, Skipped             int64
		Counts                         map[string]int64
		Accepted_total, Deduped_amount string
	}
	if err := json.Unmarshal([]byte(stdout), &summary); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	if status != 0 || summary.RC != 0 || !summary.OK || summary.Skipped != 1 || summary.Counts["accept"] != 2 || summary.Accepted_total != "5.00" || summary.Deduped_amount != "2.50" || len(summary.Checksum) != 16 {
		t.Errorf("status %d, summary %s", status, stdout)
	}
	if !strings.Contains(stderr, "dedupe.tsv line 2 skipped: columns") {
		t.Errorf("the skipped row isn't listed: %q", stderr)
	}
	if _, stdout, _ := runMain("settle", "--in", dir); !strings.Contains(stdout, "accepted") || !strings.Contains(stdout, "5.00") {
		t.Errorf("summary for people:\n%s", stdout)
	}
	status, stdout, _ = runMain("settle", "--in", settleFolder(t, "policy.tsv", ""), "--json")
	var fault struct {
		RC    int
		Error string
	}
	if err := json.Unmarshal([]byte(stdout), &fault); err != nil || status != 3 || fault.RC != 3 || !strings.Contains(fault.Error, "policy.tsv") {
		t.Errorf("status %d, fault %s (%v)", status, stdout, err)
	}
}

func TestWhyCommand(t *testing.T) {
	dir := settleFolder(t)
	status, stdout, _ := runMain("why", "--in", dir, "t", "s", "k")
	if status != 0 || !strings.Contains(stdout, "duplicate_done") || !strings.Contains(stdout, "100 s after line 1 (seq 1)") {
		t.Errorf("status %d:\n%s", status, stdout)
	}
	if status, stdout, _ := runMain("why", "--in", dir, "t", "s", "absent"); status != 1 || !strings.Contains(stdout, "no event") {
		t.Errorf("a key without events: status %d:\n%s", status, stdout)
	}
	if status, _, _ := runMain("why", "--in", filepath.Join(dir, "nowhere"), "t", "s", "k"); status != 3 {
		t.Errorf("a missing folder: status %d", status)
	}
	_, stdout, _ = runMain("why", "--in", dir, "--json", "t", "s", "k")
	var chain struct {
		Events []struct {
			Decision string
			Gap_s    int64
		}
	}
	if err := json.Unmarshal([]byte(stdout), &chain); err != nil || len(chain.Events) != 3 || chain.Events[1].Gap_s != 100 || chain.Events[2].Decision != "accept" {
		t.Errorf("%v: %s", err, stdout)
	}
	if there(filepath.Join(dir, "report.json.stale")) {
		t.Error("why moved the report")
	}
}

func TestAdviseCommand(t *testing.T) {
	dir := settleFolder(t)
	status, stdout, _ := runMain("advise", "--in", dir, "--json", "--window", "50,4000")
	var advice struct {
		Longest_gap_s int64
		Windows       []struct {
			Window_s, Events int64
			Amount           string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &advice); err != nil || status != 0 {
		t.Fatalf("status %d, %v: %s", status, err, stdout)
	}
	if len(advice.Windows) != 3 || advice.Longest_gap_s != 3900 || advice.Windows[0].Events != 2 || advice.Windows[1].Amount != "2.50" || advice.Windows[2].Events != 0 {
		t.Errorf("advice %s", stdout)
	}
	if _, stdout, _ := runMain("advise", "--in", dir); !strings.Contains(stdout, "longest gap") || !strings.Contains(stdout, "BLOCK_WINDOW_S") {
		t.Errorf("advice for people:\n%s", stdout)
	}
	if there(filepath.Join(dir, "report.json.stale")) {
		t.Error("advise moved the report")
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "7": 7, "7B": 7, "256MB": 256e6, "256MiB": 256 << 20, "1GB": 1e9, "2G": 2 << 30, "3K": 3 << 10, "1KiB": 1024, "5KB": 5000, "4M": 4 << 20, "1GiB": 1 << 30} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%q is %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MB", "-1", "+1", "1.5GB", "1 MB", "1mb", "1MBB", "01", "99999999999999999999", "9999999999999GiB", "0x10"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}
