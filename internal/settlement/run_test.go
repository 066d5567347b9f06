package settlement

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const scenario = "../../docs/spec/scenario"

// TestScenario is the published example: its report to the byte, and status 2 for what it rejects.
func TestScenario(t *testing.T) {
	want, err := os.ReadFile(filepath.Join(scenario, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	var skipped []string
	result, err := Run(context.Background(), Options{
		Paths:   Paths{Dir: scenario, Report: filepath.Join(out, "report.json")},
		Skipped: func(_ int64, why string) { skipped = append(skipped, why) },
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(out, "report.json"))
	if err != nil || string(got) != string(want) {
		t.Errorf("report (%v):\n%s", err, got)
	}
	if result.Status() != 2 || result.Skipped != 3 || strings.Join(skipped, " ") != "scope lru_capacity scope" {
		t.Errorf("status %d, skipped %v", result.Status(), skipped)
	}
}

func emptyFolder(t *testing.T) string {
	return put(t, t.TempDir(), map[string]string{PolicyFile: toolsPolicy, DedupeFile: "", EventsFile: ""})
}

// TestPanicIsTheMachines: wherever it happens, in the goroutines too, the status is 70 and there is no report.
func TestPanicIsTheMachines(t *testing.T) {
	dir := put(t, t.TempDir(), map[string]string{PolicyFile: toolsPolicy, DedupeFile: "bad\n", EventsFile: "bad\n"})
	for name, o := range map[string]Options{
		"while loading": {Skipped: func(int64, string) { panic("planted") }},
		"while reading": {Progress: func(int64, int64) { panic("planted") }},
	} {
		o.Dir = dir
		_, err := Run(context.Background(), o)
		if err == nil || Status(err) != 70 || !strings.Contains(err.Error(), "planted") {
			t.Errorf("%s: %v", name, err)
		}
		checkNoOutputs(t, dir)
	}
	in, err := openInputs(dir, func(int64, string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer in.events.Close()
	_, err = in.books(context.Background(), reading{scratch: dir, broken: func(int64, reason) error { panic("planted") }})
	if err == nil || Status(asFault(err)) != 70 {
		t.Errorf("in a parser: %v", err)
	}
}

func checkNoOutputs(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); name != PolicyFile && name != DedupeFile && name != EventsFile {
			t.Errorf("%s is left behind", name)
		}
	}
}

func TestCancelledRun(t *testing.T) {
	dir := emptyFolder(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, Options{Paths: Paths{Dir: dir}}); err == nil || Status(err) != 70 || !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run ends with %v", err)
	}
	checkNoOutputs(t, dir)
}

// TestFailedScratchIsTheMachines: a spill that can't be written ends the run with 70.
func TestFailedScratchIsTheMachines(t *testing.T) {
	f := newFeed(1)
	dir := put(t, t.TempDir(), map[string]string{PolicyFile: f.policy(), DedupeFile: f.registry(), EventsFile: strings.Join(f.events(5000, 100), "")})
	in, err := openInputs(dir, func(int64, string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer in.events.Close()
	_, err = in.books(context.Background(), reading{
		scratch: filepath.Join(dir, "missing"), sizes: sizes{chunk: 70_000, records: 1000},
		broken: func(int64, reason) error { return nil },
	})
	if err == nil || Status(asFault(err)) != 70 {
		t.Errorf("without a place for the scratch file: %v", err)
	}
}

func TestStatusOfAnUnforeseenError(t *testing.T) {
	if got := Status(errors.New("anything")); got != 70 {
		t.Errorf("%d", got)
	}
}

func TestNothingNamed(t *testing.T) {
	if _, err := Run(context.Background(), Options{}); err == nil || Status(err) != 64 {
		t.Errorf("a run without a folder: %v", err)
	}
	if _, err := Advise(context.Background(), "", nil, 0); err == nil || Status(err) != 64 {
		t.Errorf("advice without a folder: %v", err)
	}
}

// TestProgressEndsAtTheSize: told in rising steps, the last of which is the whole.
func TestProgressEndsAtTheSize(t *testing.T) {
	dir := put(t, t.TempDir(), map[string]string{PolicyFile: toolsPolicy, DedupeFile: "", EventsFile: strings.Repeat("# comment\n", 300_000)})
	var last, total int64
	steps := 0
	_, err := Run(context.Background(), Options{Paths: Paths{Dir: dir}, Progress: func(done, of int64) {
		if done < last {
			t.Errorf("progress falls from %d to %d", last, done)
		}
		last, total, steps = done, of, steps+1
	}})
	if err != nil || last != total || total != 3_000_000 || steps < 2 {
		t.Errorf("%d of %d in %d steps (%v)", last, total, steps, err)
	}
}

// TestFaultsLeaveNoReport: each fault has the contract's status, yesterday's outputs are stale and there are none of today.
func TestFaultsLeaveNoReport(t *testing.T) {
	good := map[string]string{PolicyFile: toolsPolicy, DedupeFile: "", EventsFile: "", ReportFile: "y", MalformedFile: "y", "closing.tsv": "y"}
	for _, c := range []struct {
		name, text string // of a file that is changed; no text: it is missing
		status     int
	}{{PolicyFile, "", 3}, {PolicyFile, "X\t1\n", 3}, {DedupeFile, "", 2}, {EventsFile, "", 2}, {OpeningFile, "x\n", 2}} {
		files := map[string]string{}
		for name, text := range good {
			files[name] = text
		}
		files[c.name] = c.text
		if c.text == "" {
			delete(files, c.name)
		}
		dir := put(t, t.TempDir(), files)
		_, err := Run(context.Background(), Options{Paths: Paths{Dir: dir, Closing: filepath.Join(dir, "closing.tsv")}})
		if err == nil || Status(err) != c.status {
			t.Errorf("%s %q: %v, want status %d", c.name, c.text, err, c.status)
		}
		for _, name := range []string{ReportFile, MalformedFile, "closing.tsv"} {
			if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s %q: %s is there (%v)", c.name, c.text, name, err)
			}
			if text, err := os.ReadFile(filepath.Join(dir, name+stale)); err != nil || string(text) != "y" {
				t.Errorf("%s %q: %s is %q (%v)", c.name, c.text, name+stale, text, err)
			}
		}
	}
}

// TestOpeningThatLeadsNowhere is there, and unreadable.
func TestOpeningThatLeadsNowhere(t *testing.T) {
	dir := emptyFolder(t)
	if err := os.Symlink("nowhere", filepath.Join(dir, OpeningFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), Options{Paths: Paths{Dir: dir}}); err == nil || Status(err) != 2 {
		t.Errorf("%v, want status 2", err)
	}
}

// TestGoodRunLeavesStaleFilesAlone and replaces older ones.
func TestGoodRunLeavesStaleFilesAlone(t *testing.T) {
	dir := emptyFolder(t)
	put(t, dir, map[string]string{ReportFile: "yesterday", ReportFile + stale: "the day before", MalformedFile + stale: "older"})
	result, err := Run(context.Background(), Options{Paths: Paths{Dir: dir}})
	if err != nil || result.Status() != 0 {
		t.Fatal(err)
	}
	for name, want := range map[string]string{ReportFile + stale: "yesterday", MalformedFile + stale: "older", MalformedFile: "", ReportFile: string(result.Report.Bytes())} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q (%v), want %q", name, got, err, want)
		}
	}
}

func TestStatusOfAResult(t *testing.T) {
	for _, c := range []struct {
		dedupe, events string
		want           int
	}{
		{"t\ts\tk\twire\t0\t1\n", "1\tt\ts\tk\t\t1\t1\tdone\t1\n", 0},
		{"", "1\tt\ts\tk\t\t1\t1\tdone\t1\n", 2},
		{"", "x\n", 2},
		{"skipped\n", "", 0},
	} {
		dir := put(t, t.TempDir(), map[string]string{PolicyFile: toolsPolicy, DedupeFile: c.dedupe, EventsFile: c.events})
		result, err := Run(context.Background(), Options{Paths: Paths{Dir: dir}})
		if err != nil {
			t.Fatal(err)
		}
		if got := result.Status(); got != c.want {
			t.Errorf("%q, %q: status %d, want %d", c.dedupe, c.events, got, c.want)
		}
	}
}

func TestOutputsMayNotBeInputs(t *testing.T) {
	dir := emptyFolder(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	linked := filepath.Join(t.TempDir(), "linked.tsv")
	if err := os.Link(in(EventsFile), linked); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Paths{
		{Closing: in(OpeningFile)}, {Closing: in(DedupeFile)}, {Closing: linked}, {Report: in(PolicyFile)}, {Malformed: in(EventsFile)},
		{Closing: in(ReportFile)}, {Malformed: in(ReportFile)}, {Closing: in(ReportFile + stale)}, {Closing: in(MalformedFile)},
	} {
		p.Dir = dir
		if _, err := Run(context.Background(), Options{Paths: p}); err == nil || Status(err) != 64 {
			t.Errorf("%+v: %v, want status 64", p, err)
		}
		checkNoOutputs(t, dir)
	}
}
