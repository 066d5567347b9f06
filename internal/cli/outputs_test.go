//go:build unix

package cli

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// strangePlaces makes, in a folder of its own, one of each thing that is there and is no regular file.
func strangePlaces(t *testing.T) map[string]string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hapax") // a socket's name is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	in := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(syscall.Mkfifo(in("fifo"), 0o600))
	must(os.Mkdir(in("folder"), 0o700))
	must(os.WriteFile(in("folder")+"/full", nil, 0o600))
	must(os.Symlink(in("absent"), in("dangling")))
	must(os.Symlink(os.DevNull, in("device")))
	must(os.Symlink(in("fifo"), in("link")))
	must(os.Symlink(in("link-2"), in("link-1")))
	must(os.Symlink(in("link-1"), in("link-2")))
	l, err := net.Listen("unix", in("socket"))
	must(err)
	t.Cleanup(func() { _ = l.Close() })
	return map[string]string{
		"a fifo": in("fifo"), "a folder": in("folder"), "a link to nothing": in("dangling"), "a link to a device": in("device"),
		"a link to a fifo": in("link"), "a loop of links": in("link-1"), "a socket": in("socket"),
	}
}

// asItWas says how everything in a folder stands.
func asItWas(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		link, _ := os.Readlink(filepath.Join(dir, e.Name()))
		all.WriteString(e.Name() + " " + info.Mode().String() + " " + info.ModTime().String() + " " + link + "\n")
	}
	return all.String()
}

// TestOutputsThatAreNoRegularFilesAreLeftAlone: 64, and nothing is touched, by every flag of every command that names an output.
func TestOutputsThatAreNoRegularFilesAreLeftAlone(t *testing.T) {
	places := strangePlaces(t)
	files := map[string]func(dir, path string) []string{
		"settle --report":    func(dir, path string) []string { return []string{"settle", "--in", dir, "--report", path} },
		"settle --malformed": func(dir, path string) []string { return []string{"settle", "--in", dir, "--malformed", path} },
		"settle --closing":   func(dir, path string) []string { return []string{"settle", "--in", dir, "--closing", path} },
		"send --store": func(_, path string) []string {
			return []string{"send", "--offline", "--room", "r", "--store", path, "hello"}
		},
		"outbox --store": func(_, path string) []string { return []string{"outbox", "list", "--store", path} },
	}
	folders := map[string]func(dir, path string) []string{
		"generate --out": func(_, path string) []string {
			return []string{"settle", "generate", "--events", "1", "--keys", "1", "--tenants", "1", "--out", path}
		},
		"export --out": func(dir, path string) []string { return []string{"export", "--data", dir, "--out", path} },
		"backup":       func(dir, path string) []string { return []string{"backup", "--data", dir, path} },
		"restore":      func(dir, path string) []string { return []string{"restore", "--data", path, dir} },
		"demo --keep":  func(_, path string) []string { return []string{"demo", "--messages", "1", "--keep", path} },
		"bench --dir":  func(_, path string) []string { return []string{"bench", "--dir", path, "sync"} },
	}
	try := func(name, place string, args []string) {
		t.Run(name+", "+place, func(t *testing.T) {
			before := asItWas(t, filepath.Dir(places[place]))
			if status, _, errs := run(t, args...); status != ExitUsage {
				t.Errorf("%d %s", status, errs)
			}
			if after := asItWas(t, filepath.Dir(places[place])); after != before {
				t.Errorf("before:\n%safter:\n%s", before, after)
			}
		})
	}
	for place, path := range places {
		for name, words := range files {
			try(name, place, words(settleFolder(t), path))
		}
		for name, words := range folders {
			if place == "a folder" && (name == "generate --out" || name == "bench --dir") {
				continue // they go into a folder beside what it holds
			}
			try(name, place, words(t.TempDir(), path))
		}
	}
}

// TestGenerateWritesOverNoDevice: a folder's files are outputs too.
func TestGenerateWritesOverNoDevice(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(os.DevNull, filepath.Join(dir, "events.tsv")); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := run(t, "settle", "generate", "--events", "1", "--keys", "1", "--tenants", "1", "--out", dir); status != ExitUsage {
		t.Error(status, errs)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Error(entries, err)
	}
}

// TestReportOnStandardOutput: the report and nothing else, and no file but the list of malformed rows.
func TestReportOnStandardOutput(t *testing.T) {
	dir, out := settleFolder(t), t.TempDir()
	list := filepath.Join(out, "malformed.tsv")
	status, _, errs := run(t, "settle", "--in", dir, "--report", filepath.Join(out, "report.json"), "--malformed", list)
	if status != ExitOK {
		t.Fatal(status, errs)
	}
	want, err := os.ReadFile(filepath.Join(out, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	before := asItWas(t, dir)
	status, report, errs := run(t, "settle", "--in", dir, "--report", "-", "--malformed", list)
	if status != ExitOK || report != string(want) || !strings.Contains(errs, "accepted") {
		t.Errorf("%d %q %q", status, report, errs)
	}
	if after := asItWas(t, dir); after != before {
		t.Errorf("the inputs' folder changed: %s", after)
	}
	for _, args := range [][]string{{}, {"--malformed", list, "--json"}, {"--malformed", "-"}, {"--malformed", list, "--closing", "-"}} {
		if status, out, errs := run(t, append([]string{"settle", "--in", dir, "--report", "-"}, args...)...); status != ExitUsage || out != "" {
			t.Errorf("%v: %d %q %q", args, status, out, errs)
		}
	}
}
