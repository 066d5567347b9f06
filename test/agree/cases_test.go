package agree

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestCasesFromTheFieldAgree has the audit and the probe read each case that the settlement is held to.
func TestCasesFromTheFieldAgree(t *testing.T) {
	var dirs []string
	err := filepath.WalkDir("../../testdata/cases", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "expect.json" {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "events.tsv")); err == nil {
				dirs = append(dirs, filepath.Dir(path))
			}
		}
		return err
	})
	if err != nil || len(dirs) < 10 {
		t.Fatalf("%d cases: %v", len(dirs), err)
	}
	probed, err := ByProbe(probeScript, dirs)
	if err != nil {
		t.Fatal(err)
	}
	for i, dir := range dirs {
		audited, err := ByAudit(dir)
		if err != nil {
			t.Fatal(err)
		}
		if audited != probed[i] {
			t.Errorf("%s: audit %+v, probe %+v", dir, audited, probed[i])
		}
		text, err := os.ReadFile(filepath.Join(dir, "expect.json"))
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Status    int
			Report    json.RawMessage
			Malformed []string
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		malformed := ""
		for _, row := range want.Malformed {
			malformed += row + "\n"
		}
		if audited.Status != want.Status || !sameJSON(t, audited.Report, string(want.Report)) || audited.Malformed != malformed {
			t.Errorf("%s: %+v, want %s", dir, audited, text)
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	normal := func(text string) string {
		var value any
		if text == "" {
			return "null"
		}
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		out, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	return normal(a) == normal(b)
}
