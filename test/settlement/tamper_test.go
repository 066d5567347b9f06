package settlement

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

type verdict struct {
	Checks   int
	Degraded bool
	Issues   []string
	RC       int
}

func health(t *testing.T, dir string) verdict {
	t.Helper()
	r := hapax(t, "health", "--in", dir)
	var v verdict
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil || v.RC != r.status {
		t.Fatalf("health prints %q with status %d (%v)", r.stdout, r.status, err)
	}
	return v
}

// TestEachPartBrokenInTurn is G23: health says which part broke, by name, and its status isn't 0.
func TestEachPartBrokenInTurn(t *testing.T) {
	from := filepath.Join(casesDir, "G23")
	breakings := map[string]struct {
		file, right, wrong string // no right: the file is removed
		rc                 int
		issue              string // a regular expression that one of the issues matches
	}{
		"policy gone":        {"policy.tsv", "", "", 3, "^contract:"},
		"registry gone":      {"dedupe.tsv", "", "", 2, "^unreadable:dedupe.tsv$"},
		"events gone":        {"events.tsv", "", "", 2, "^unreadable:events.tsv$"},
		"opening broken":     {"opening.tsv", "\t1010\t", "\t01010\t", 2, "^unreadable:opening.tsv$"},
		"report gone":        {"report.json", "", "", 2, "^unreadable:report.json$"},
		"report cut":         {"report.json", "\n}\n", "\n", 2, "^unreadable:report.json$"},
		"opening gone":       {"opening.tsv", "", "", 1, "^mismatch:"},
		"window changed":     {"policy.tsv", "S\t100", "S\t49", 1, "^mismatch:counts: "},
		"registration moved": {"dedupe.tsv", "beta\terp", "beta\twms", 1, "^mismatch:counts: "},
		"amount changed":     {"events.tsv", "40.00", "40.01", 1, "^mismatch:accepted_total: "},
		"event moved":        {"events.tsv", "1390", "1401", 1, "^mismatch:counts: "},
		"event malformed":    {"events.tsv", "1390", "soon", 1, "^malformed:1$"},
		"count":              {"report.json", `"accept": 2`, `"accept": 4`, 1, "^mismatch:counts: "},
		"total":              {"report.json", `"accepted_total": "40.30"`, `"accepted_total": "40.31"`, 1, "^mismatch:accepted_total: "},
		"total as a number":  {"report.json", `"accepted_total": "40.30"`, `"accepted_total": 40.30`, 1, "^mismatch:accepted_total: "},
		"tenant's total":     {"report.json", `"beta": "0.30"`, `"beta": "0.3"`, 1, "^mismatch:tenant_totals: "},
		"ledger":             {"report.json", `"lru_rank": 2`, `"lru_rank": 3`, 1, "^mismatch:lru: "},
		"ok":                 {"report.json", `"ok": true`, `"ok": false`, 1, "^mismatch:ok: expect=true actual=false$"},
		"checksum missing":   {"report.json", `"checksum"`, `"ok2"`, 2, "^unreadable:report.json$"},
		"a field missing":    {"report.json", ",\n  \"window_hits\": 4", "", 1, "^missing:window_hits$"},
	}
	for name, b := range breakings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, from)
			if r := hapax(t, "settle", "--in", dir); r.status != 0 {
				t.Fatalf("status %d: %s", r.status, r.stderr)
			}
			path := filepath.Join(dir, b.file)
			if b.right == "" {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			} else {
				text := read(t, path)
				if strings.Count(text, b.right) < 1 {
					t.Fatalf("%s holds no %q:\n%s", b.file, b.right, text)
				}
				write(t, path, strings.Replace(text, b.right, b.wrong, 1))
			}
			v := health(t, dir)
			if v.RC != b.rc || !v.Degraded {
				t.Errorf("rc %d, degraded %t, want %d: %v", v.RC, v.Degraded, b.rc, v.Issues)
			}
			named := regexp.MustCompile(b.issue)
			for _, issue := range v.Issues {
				if named.MatchString(issue) {
					return
				}
			}
			t.Errorf("no issue matches %s: %v", b.issue, v.Issues)
		})
	}
}
