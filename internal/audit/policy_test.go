package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPolicy(t *testing.T) {
	cases := []struct {
		name, text string
		want       policy
		fault      string // part of the reason; empty: none
	}{
		{"plain", plainPolicy, policy{window: 120, minHits: 1}, ""},
		{"dressed", "\uFEFF# x\r\n\r\nLRU_MIN_HITS\t0\r\n \t\r\nSCOPE_STRICT\t1\r\nBLOCK_WINDOW_S\t999999999999999\r", policy{window: 999_999_999_999_999, strict: true}, ""},
		{"empty", "", policy{}, "no BLOCK_WINDOW_S"},
		{"no window", "SCOPE_STRICT\t0\nLRU_MIN_HITS\t1\n", policy{}, "no BLOCK_WINDOW_S"},
		{"no strictness", "BLOCK_WINDOW_S\t0\nLRU_MIN_HITS\t1\n", policy{}, "no SCOPE_STRICT"},
		{"no hits", "BLOCK_WINDOW_S\t0\nSCOPE_STRICT\t0\n", policy{}, "no LRU_MIN_HITS"},
		{"repeated", plainPolicy + "LRU_MIN_HITS\t1\n", policy{}, "policy.tsv:4: repeated"},
		{"unknown", plainPolicy + "MORE\t1\n", policy{}, "policy.tsv:4: unknown"},
		{"other case", strings.ToLower(plainPolicy), policy{}, "unknown"},
		{"space in a key", "BLOCK_WINDOW_S \t1\n", policy{}, "unknown"},
		{"one column", plainPolicy + "x\n", policy{}, "1 columns"},
		{"three columns", "BLOCK_WINDOW_S\t1\t\n", policy{}, "3 columns"},
		{"spaces for a tab", "BLOCK_WINDOW_S 1\n", policy{}, "1 columns"},
		{"strictness 2", "SCOPE_STRICT\t2\n", policy{}, "out of range"},
		{"strictness 01", "SCOPE_STRICT\t01\n", policy{}, "out of range"},
		{"strictness true", "SCOPE_STRICT\ttrue\n", policy{}, "out of range"},
		{"empty value", "BLOCK_WINDOW_S\t\n", policy{}, "out of range"},
		{"negative window", "BLOCK_WINDOW_S\t-1\n", policy{}, "out of range"},
		{"window of 16 digits", "BLOCK_WINDOW_S\t1000000000000000\n", policy{}, "out of range"},
		{"decimal hits", "LRU_MIN_HITS\t1.0\n", policy{}, "out of range"},
		{"CR left in a value", "LRU_MIN_HITS\t1\r\r\n", policy{}, "out of range"},
		{"comment not UTF-8", plainPolicy + "#\xFF\n", policy{}, "policy.tsv:4: line"},
		{"over-long comment", plainPolicy + "#" + strings.Repeat("x", 65_536) + "\n", policy{}, "policy.tsv:4: line"},
		{"indented comment", plainPolicy + " # x\n", policy{}, "1 columns"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, policyFile), c.text)
			got, err := readPolicy(dir)
			var contract *ContractError
			switch {
			case c.fault == "" && (err != nil || got != c.want):
				t.Errorf("policy %+v, %v; want %+v", got, err, c.want)
			case c.fault != "" && (!errors.As(err, &contract) || !strings.Contains(contract.Reason, c.fault)):
				t.Errorf("error %v, want a contract error with %q", err, c.fault)
			}
		})
	}
}

// TestPolicyThatCantBeRead: each way to have no policy is a contract error, not a broken machine.
func TestPolicyThatCantBeRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	writeFile(t, file, "")
	folderForFile := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(folderForFile, policyFile), 0o755); err != nil {
		t.Fatal(err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Mkdir(loop, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(policyFile, filepath.Join(loop, policyFile)); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{
		filepath.Join(dir, "nowhere"), dir, file, folderForFile, loop, filepath.Join(dir, strings.Repeat("x", 5_000)),
	} {
		_, err := readPolicy(in)
		var contract *ContractError
		if !errors.As(err, &contract) {
			t.Errorf("%.60s: %v, want a contract error", in, err)
		}
	}
}
