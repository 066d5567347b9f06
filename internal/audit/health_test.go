package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// settled is a copy of the scenario with its published report.
func settled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for from, to := range map[string]string{policyFile: policyFile, dedupeFile: dedupeFile, eventsFile: eventsFile, "expected.json": reportFile} {
		text, err := os.ReadFile(filepath.Join(scenarioDir, from))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, to), string(text))
	}
	return dir
}

func healthLine(t *testing.T, dir, report string) string {
	t.Helper()
	verdict, err := Health(dir, report)
	if err != nil {
		t.Fatal(err)
	}
	return string(verdict.Line())
}

const (
	healthy    = `{"checks":8,"degraded":false,"issues":[],"rc":0}` + "\n"
	unreadable = `{"checks":0,"degraded":true,"issues":["unreadable:%s"],"rc":2}` + "\n"
)

func edit(t *testing.T, path, old, new string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s doesn't hold %q", path, old)
	}
	writeFile(t, path, strings.Replace(string(text), old, new, 1))
}

// step does something to a folder.
type step = func(*testing.T, string)

func gone(names ...string) step {
	return func(t *testing.T, dir string) {
		for _, name := range names {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func change(name, old, new string) step {
	return func(t *testing.T, dir string) { edit(t, filepath.Join(dir, name), old, new) }
}

func put(name, text string) step {
	return func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, name), text) }
}

var (
	malformed     = change(eventsFile, "33\ttenant-alpha", "x\nx\ty\n33\ttenant-alpha")
	brokenOpening = put(openingFile, "x\n")
)

const missingPolicy = `{"checks":0,"degraded":true,"issues":["contract:policy.tsv: no such file or directory"],"rc":3}` + "\n"

var healthCases = []struct {
	name string
	do   []step
	want string
}{
	{"untouched", nil, healthy},
	{"white space and order don't count", []step{
		change(reportFile, "\n  \"accepted_total\": \"249.30\",", ""), change(reportFile, "\n}\n", " ,\"accepted_total\"\t:\r\n\"249.\\u00330\"} ")}, healthy},
	{"another total", []step{change(reportFile, "249.30", "249.31")},
		`{"checks":8,"degraded":true,"issues":["mismatch:accepted_total: expect=\"249.30\" actual=\"249.31\""],"rc":1}` + "\n"},
	{"decimals count", []step{change(reportFile, "249.30", "249.3")},
		`{"checks":8,"degraded":true,"issues":["mismatch:accepted_total: expect=\"249.30\" actual=\"249.3\""],"rc":1}` + "\n"},
	{"type counts", []step{change(reportFile, "\"249.30\"", "249.30")},
		`{"checks":8,"degraded":true,"issues":["mismatch:accepted_total: expect=\"249.30\" actual=249.3"],"rc":1}` + "\n"},
	{"5.0 isn't 5", []step{change(reportFile, "\"window_hits\": 5", "\"window_hits\": 5.0")},
		`{"checks":8,"degraded":true,"issues":["mismatch:window_hits: expect=5 actual=5"],"rc":1}` + "\n"},
	{"null", []step{change(reportFile, "\"ok\": false", "\"ok\": null")},
		`{"checks":8,"degraded":true,"issues":["mismatch:ok: expect=false actual=null"],"rc":1}` + "\n"},
	{"issues in the table's order", []step{
		change(reportFile, "\"ok\": false", "\"ok\": 0"), change(reportFile, "  \"checksum\": \"93bd22ab9e262740\",\n", ""), change(reportFile, "\"accept\": 22", "\"accept\": \"22\""),
		change(reportFile, "  \"deduped_amount\": \"12.20\",\n", "")},
		`{"checks":8,"degraded":true,"issues":["mismatch:counts: expect={\"accept\":22,\"bad_amount\":2,\"dedupe\":5,\"duplicate_done\":4,\"duplicate_pending\":1,\"events\":33,\"reject\":6,\"unknown_key\":4} ` +
			`actual={\"accept\":\"22\",\"bad_amount\":2,\"dedupe\":5,\"duplicate_done\":4,\"duplicate_pending\":1,\"events\":33,\"reject\":6,\"unknown_key\":4}",` +
			`"missing:deduped_amount","missing:checksum","mismatch:ok: expect=false actual=0"],"rc":1}` + "\n"},
	{"malformed rows", []step{malformed}, `{"checks":8,"degraded":true,"issues":["malformed:2"],"rc":2}` + "\n"},
	{"malformed rows beside a field", []step{malformed, change(reportFile, "\"window_hits\": 5", "\"window_hits\": 6")},
		`{"checks":8,"degraded":true,"issues":["mismatch:window_hits: expect=5 actual=6","malformed:2"],"rc":1}` + "\n"},
	{"no policy", []step{gone(policyFile)}, missingPolicy},
	{"no policy goes before all", []step{gone(policyFile, dedupeFile, eventsFile, reportFile)}, missingPolicy},
	{"no registry", []step{gone(dedupeFile)}, fmt.Sprintf(unreadable, dedupeFile)},
	{"no events", []step{gone(eventsFile)}, fmt.Sprintf(unreadable, eventsFile)},
	{"no report", []step{gone(reportFile)}, fmt.Sprintf(unreadable, reportFile)},
	{"the first is named: registry", []step{gone(dedupeFile, eventsFile, reportFile), brokenOpening}, fmt.Sprintf(unreadable, dedupeFile)},
	{"the first is named: events", []step{gone(eventsFile, reportFile), brokenOpening}, fmt.Sprintf(unreadable, eventsFile)},
	{"the first is named: opening", []step{gone(reportFile), brokenOpening}, fmt.Sprintf(unreadable, openingFile)},
	{"a report beyond the eight", []step{change(reportFile, "{\n", "{\n\"more\":1,")}, fmt.Sprintf(unreadable, reportFile)},
	{"a report with a member twice", []step{change(reportFile, "{\n", "{\n\"ok\":false,")}, fmt.Sprintf(unreadable, reportFile)},
	{"two documents", []step{change(reportFile, "\n}\n", "\n}{}")}, fmt.Sprintf(unreadable, reportFile)},
	{"an empty object", []step{put(reportFile, "{}")},
		`{"checks":8,"degraded":true,"issues":["missing:counts","missing:accepted_total","missing:deduped_amount","missing:tenant_totals","missing:window_hits","missing:lru","missing:checksum","missing:ok"],"rc":1}` + "\n"},
}

func TestHealth(t *testing.T) {
	for _, c := range healthCases {
		t.Run(c.name, func(t *testing.T) {
			dir := settled(t)
			for _, do := range c.do {
				do(t, dir)
			}
			before := snapshot(t, dir)
			if got := healthLine(t, dir, ""); got != c.want {
				t.Errorf("got  %swant %s", got, c.want)
			}
			if after := snapshot(t, dir); after != before {
				t.Errorf("health changed the folder from\n%s to\n%s", before, after)
			}
		})
	}
}

// snapshot is what a folder holds, with times.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s %v %v %x\n", entry.Name(), info.Mode(), info.ModTime().UnixNano(), content)
	}
	return text.String()
}

func TestHealthOfAnotherReport(t *testing.T) {
	dir := settled(t)
	other := filepath.Join(t.TempDir(), "yesterday.json")
	if got, want := healthLine(t, dir, other), fmt.Sprintf(unreadable, "yesterday.json"); got != want {
		t.Errorf("got %swant %s", got, want)
	}
	if err := os.Rename(filepath.Join(dir, reportFile), other); err != nil {
		t.Fatal(err)
	}
	if got := healthLine(t, dir, other); got != healthy {
		t.Errorf("got %s", got)
	}
	if got, want := healthLine(t, dir, dir), fmt.Sprintf(unreadable, filepath.Base(dir)); got != want {
		t.Errorf("a folder for a report: got %swant %s", got, want)
	}
}

// TestMachineFailures: neither a failing disk nor a panic, in whatever goroutine, may look like a verdict.
func TestMachineFailures(t *testing.T) {
	var unreadable *UnreadableError
	if err := fileError(eventsFile, errors.New("input/output error")); errors.As(err, &unreadable) {
		t.Error("a failing disk was taken for an unreadable file")
	}
	if err := guarded(func() error { panic("planted") }); err == nil || !strings.Contains(err.Error(), "planted") {
		t.Errorf("panic became %v", err)
	}
	if _, err := readEvents(strings.NewReader("1\tt\ts\tk\twire\t5\t1.5\tdone\t3\n"), &keyTable{}); err == nil {
		t.Error("a panic of a parsing worker was lost")
	}
	ev := &events{segments: [][]event{{{}}}, total: 1, perKey: []uint32{1}}
	if _, err := judgeAll(ev, policy{}, &registry{keys: newKeyTable(0, 0)}, &openings{}); err == nil {
		t.Error("a panic of a judging worker was lost")
	}
	if _, err := readEvents(iotest.ErrReader(errors.New("planted")), newKeyTable(0, 0)); err == nil || errors.As(err, &unreadable) {
		t.Errorf("a failing read became %v", err)
	}
}
