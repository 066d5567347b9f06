package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPublishedTables puts the three faults of the scenario's README into the settlement, one by one and all together: each
// program that comes out gives the README's wrong table, and the right program's health check turns red on its report.
func TestPublishedTables(t *testing.T) {
	const letIn, anchor, scopes = "registry: bad rows are let in", "settle: the anchor is the key's first event", "settle: scopes are ignored"
	right := buildWith(t)
	for _, c := range []struct {
		faults []string
		want   string // accept, dedupe, reject, unknown_key, accepted_total, tenant-alpha
		health int
	}{
		{nil, "22 5 6 4 249.30 217.40", 0},
		{[]string{letIn}, "24 5 4 2 262.30 230.40", 1},
		{[]string{anchor}, "23 4 6 4 252.30 217.40", 1},
		{[]string{scopes}, "20 7 6 4 243.30 217.40", 1},
		{[]string{letIn, anchor, scopes}, "23 6 4 2 259.30 230.40", 1},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(moduleRoot, "docs", "spec", "scenario"))); err != nil {
			t.Fatal(err)
		}
		if status, out := exit(t, buildWith(t, c.faults...), "settle", "--in", dir); status != 2 {
			t.Errorf("%q: settle exits %d\n%s", c.faults, status, out)
		}
		if got := scenarioTable(t, filepath.Join(dir, "report.json")); got != c.want {
			t.Errorf("%q: table %s, want %s", c.faults, got, c.want)
		}
		if status, out := exit(t, right, "health", "--in", dir); status != c.health {
			t.Errorf("%q: health exits %d, want %d\n%s", c.faults, status, c.health, out)
		}
	}
}

const moduleRoot = "../.."

// buildWith builds the program with faults of the gate's list put in.
func buildWith(t *testing.T, names ...string) (program string) {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for _, name := range names {
		f := faultNamed(t, name)
		path, err := filepath.Abs(filepath.Join(moduleRoot, f.File))
		if err != nil {
			t.Fatal(err)
		}
		from := path
		if changed := replace[path]; changed != "" {
			from = changed
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), f.Right) != 1 {
			t.Fatalf("%s no longer applies", name)
		}
		replace[path] = filepath.Join(dir, strings.ReplaceAll(f.File, "/", "_"))
		if err := os.WriteFile(replace[path], []byte(strings.Replace(string(text), f.Right, f.Wrong, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "hapax")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-overlay", file, "-o", program, "./cmd/hapax")
	build.Dir = moduleRoot
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", names, err, out)
	}
	return program
}

func faultNamed(t *testing.T, name string) Fault {
	t.Helper()
	for _, f := range allFaults() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("the list has no fault %q", name)
	return Fault{}
}

func exit(t *testing.T, program string, args ...string) (status int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

func scenarioTable(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Counts       map[string]int    `json:"counts"`
		Accepted     string            `json:"accepted_total"`
		TenantTotals map[string]string `json:"tenant_totals"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %d %d %d %s %s", r.Counts["accept"], r.Counts["dedupe"], r.Counts["reject"], r.Counts["unknown_key"], r.Accepted, r.TenantTotals["tenant-alpha"])
}
