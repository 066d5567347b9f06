package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEveryByteOfTheReportCounts flips each byte of the scenario's report, and cuts the report after each.
func TestEveryByteOfTheReportCounts(t *testing.T) {
	dir := settled(t)
	path := filepath.Join(dir, reportFile)
	report, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range report {
		flipped := slices.Clone(report)
		flipped[i] ^= 1
		writeFile(t, path, string(flipped))
		if verdict, err := Health(dir, ""); err != nil || (verdict.Status != 1 && verdict.Status != 2) {
			t.Errorf("byte %d flipped: %v, %s", i, err, verdict.Line())
		}
		writeFile(t, path, string(report[:i]))
		want := 2
		if i == len(report)-1 { // without its last newline it says the same
			want = 0
		}
		if verdict, err := Health(dir, ""); err != nil || verdict.Status != want {
			t.Errorf("cut after %d bytes: %v, %s", i, err, verdict.Line())
		}
	}
}

// wrongs are values that a value of a report could have been.
func wrongs(right any) []any {
	switch value := right.(type) {
	case json.Number:
		return []any{json.Number(value + "0"), json.Number("-" + value), json.Number(value + ".0"), json.Number(value + "e0"), value.String(), nil, true, []any{value}}
	case string:
		return []any{value + "0", value + " ", strings.ToUpper(value) + "x", "", json.Number("249.30"), nil, []any{}}
	case bool:
		return []any{!value, nil, fmt.Sprint(value), json.Number("0"), json.Number("1")}
	case map[string]any:
		all := []any{nil, []any{}, map[string]any{}, with(value, "more", json.Number("0"))}
		for name, inner := range value {
			all = append(all, without(value, name), with(without(value, name), name+"x", inner))
			for _, wrong := range wrongs(inner) {
				all = append(all, with(value, name, wrong))
			}
		}
		return all
	case []any:
		all := []any{nil, map[string]any{}, []any{}, append(slices.Clone(value), value...)}
		for i, inner := range value {
			all = append(all, slices.Delete(slices.Clone(value), i, i+1))
			for _, wrong := range wrongs(inner) {
				changed := slices.Clone(value)
				changed[i] = wrong
				all = append(all, changed)
			}
		}
		turned := slices.Clone(value)
		slices.Reverse(turned)
		return append(all, turned)
	}
	return nil
}

func without(object map[string]any, name string) map[string]any {
	changed := map[string]any{}
	for n, value := range object {
		if n != name {
			changed[n] = value
		}
	}
	return changed
}

func with(object map[string]any, name string, value any) map[string]any {
	changed := without(object, name)
	changed[name] = value
	return changed
}

// TestEveryValueOfTheReportCounts puts wrong values in each place of the scenario's report: one issue, for that field.
func TestEveryValueOfTheReportCounts(t *testing.T) {
	dir := settled(t)
	path := filepath.Join(dir, reportFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var report map[string]any
	from := json.NewDecoder(strings.NewReader(string(text)))
	from.UseNumber()
	if err := from.Decode(&report); err != nil {
		t.Fatal(err)
	}
	check := func(changed map[string]any, issue string) {
		t.Helper()
		text, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, string(text))
		verdict, err := Health(dir, "")
		if err != nil || verdict.Status != 1 || verdict.Checks != 8 || len(verdict.Issues) != 1 || !strings.HasPrefix(verdict.Issues[0], issue) {
			t.Errorf("%s\ngave %v %s, want %s", text, err, verdict.Line(), issue)
		}
	}
	tried := 0
	for _, field := range fieldNames {
		check(without(report, field), "missing:"+field)
		for _, wrong := range wrongs(report[field]) {
			check(with(report, field, wrong), "mismatch:"+field+": expect=")
			tried++
		}
	}
	if tried < 150 {
		t.Errorf("only %d values tried", tried)
	}
}

// neutral are the changes of the scenario's input that change no figure, with the reason.
var neutral = map[string]string{
	"dedupe.tsv:3":         "a later row of the key stands",
	"dedupe.tsv:4":         "an earlier row of the key stands in its place, and its one event has no other to differ from",
	"dedupe.tsv:7":         "broken before: no such scope",
	"dedupe.tsv:9":         "broken before: capacity",
	"dedupe.tsv:10":        "broken before: no such scope",
	"events.tsv:9:amount":  "unknown key before",
	"events.tsv:11:amount": "unknown key before",
	"events.tsv:13:amount": "unknown key before",
	"events.tsv:16:amount": "bad amount before",
	"events.tsv:21:amount": "bad amount before",
	"events.tsv:24:amount": "unknown key before",
	"policy.tsv:2:other":   "every row states its window",
}

// TestEveryInputLineCounts removes, breaks and doubles each line of the scenario's input.
func TestEveryInputLineCounts(t *testing.T) {
	eventColumns := []string{"seq", "tenant", "source", "dedupe_key", "scope", "seen_at", "amount", "state", "lru_rank"}
	for name, bad := range map[string]int{policyFile: 3, dedupeFile: 1, eventsFile: 1} {
		dir := settled(t)
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
		try := func(id string, want int, line int, replacement string) {
			t.Helper()
			if _, listed := neutral[id]; listed {
				want = 0
			}
			changed := slices.Clone(lines)
			changed[line] = replacement
			writeFile(t, path, strings.Join(changed, ""))
			if verdict, err := Health(dir, ""); err != nil || verdict.Status != want {
				t.Errorf("%s as %q: %v, status %d, want %d: %s", id, replacement, err, verdict.Status, want, verdict.Line())
			}
		}
		for i := 1; i < len(lines); i++ { // the first is a comment
			id := fmt.Sprintf("%s:%d", name, i+1)
			try(id, bad, i, "")
			columns := strings.Split(strings.TrimSuffix(lines[i], "\n"), "\t")
			for c := range columns {
				broken := slices.Clone(columns)
				broken[c] = "\x01"
				columnID := id
				if name == eventsFile {
					columnID += ":" + eventColumns[c]
				}
				if columnID != id && eventColumns[c] != "amount" {
					columnID = id // only the amount has neutral places
				}
				try(columnID, bad, i, strings.Join(broken, "\t")+"\n")
			}
			switch name {
			case eventsFile:
				try(id, bad, i, lines[i]+"\n"+lines[i]) // one event more
			case policyFile:
				try(id, bad, i, lines[i]+"\n"+lines[i]) // a repeated key
			}
		}
	}
	dir := settled(t)
	for i, replacement := range []string{"BLOCK_WINDOW_S\t99", "SCOPE_STRICT\t0", "LRU_MIN_HITS\t3"} {
		old := strings.Split(plainScenarioPolicy, "\n")[i]
		edit(t, filepath.Join(dir, policyFile), old, replacement)
		want := 1
		if neutral[fmt.Sprintf("policy.tsv:%d:other", i+2)] != "" {
			want = 0
		}
		if verdict, err := Health(dir, ""); err != nil || verdict.Status != want {
			t.Errorf("%s: %v, %s", replacement, err, verdict.Line())
		}
		edit(t, filepath.Join(dir, policyFile), replacement, old)
	}
}

const plainScenarioPolicy = "BLOCK_WINDOW_S\t100\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t2"
