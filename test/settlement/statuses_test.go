package settlement

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStatuses breaks a good folder in one way each and expects the contract's status, and a report only where it
// says so.
func TestStatuses(t *testing.T) {
	type files = map[string]string
	const gone = "\x00gone"
	cases := []struct {
		name   string
		change files
		status int
		report bool
	}{
		{"good", nil, 0, true},
		{"no rows at all", files{"dedupe.tsv": "", "events.tsv": ""}, 0, true},
		{"something rejected", files{"dedupe.tsv": "# none\n"}, 2, true},
		{"something malformed", files{"events.tsv": "1\ta\tb\n"}, 2, true},
		{"policy missing", files{"policy.tsv": gone}, 3, false},
		{"policy empty", files{"policy.tsv": ""}, 3, false},
		{"policy key unknown", files{"policy.tsv": "BLOCK_WINDOW_S\t1\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t1\nX\t1\n"}, 3, false},
		{"policy key repeated", files{"policy.tsv": "BLOCK_WINDOW_S\t1\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t1\nLRU_MIN_HITS\t1\n"}, 3, false},
		{"policy key missing", files{"policy.tsv": "BLOCK_WINDOW_S\t1\nSCOPE_STRICT\t1\n"}, 3, false},
		{"policy value 2", files{"policy.tsv": "BLOCK_WINDOW_S\t1\nSCOPE_STRICT\t2\nLRU_MIN_HITS\t1\n"}, 3, false},
		{"policy value -1", files{"policy.tsv": "BLOCK_WINDOW_S\t-1\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t1\n"}, 3, false},
		{"policy of three columns", files{"policy.tsv": "BLOCK_WINDOW_S\t1\t\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t1\n"}, 3, false},
		{"policy with a broken comment", files{"policy.tsv": "#\xff\nBLOCK_WINDOW_S\t1\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t1\n"}, 3, false},
		{"registry missing", files{"dedupe.tsv": gone}, 2, false},
		{"events missing", files{"events.tsv": gone}, 2, false},
		{"opening broken", files{"opening.tsv": "a\tb\tc\n"}, 2, false},
		{"opening's scope empty", files{"opening.tsv": "acme\tpay\tk\t\t1\tdone\n"}, 2, false},
		{"opening with a key twice", files{"opening.tsv": "acme\tpay\tk\twire\t1\tdone\nacme\tpay\tk\twire\t2\tdone\n"}, 2, false},
		{"policy and events missing", files{"policy.tsv": gone, "events.tsv": gone}, 3, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, filepath.Join(casesDir, "G01"))
			for name, text := range c.change {
				if text == gone {
					if err := os.Remove(filepath.Join(dir, name)); err != nil {
						t.Fatal(err)
					}
					continue
				}
				write(t, filepath.Join(dir, name), text)
			}
			write(t, filepath.Join(dir, "report.json"), "yesterday")
			r := hapax(t, "settle", "--in", dir)
			if r.status != c.status {
				t.Errorf("status %d, want %d: %s", r.status, c.status, r.stderr)
			}
			if got := read(t, filepath.Join(dir, "report.json.stale")); got != "yesterday" {
				t.Errorf("the stale report is %q", got)
			}
			if !c.report {
				absent(t, filepath.Join(dir, "report.json"))
				absent(t, filepath.Join(dir, "malformed.tsv"))
			} else if !strings.HasPrefix(read(t, filepath.Join(dir, "report.json")), "{\n") {
				t.Error("no report")
			}
			if strings.Contains(names(t, dir), ".part") {
				t.Errorf("left behind: %s", names(t, dir))
			}
		})
	}
}

func TestMissingFolderIsAMissingPolicy(t *testing.T) {
	if r := hapax(t, "settle", "--in", filepath.Join(t.TempDir(), "nowhere")); r.status != 3 {
		t.Errorf("status %d, want 3: %s", r.status, r.stderr)
	}
}

// TestUnreadableIsNamed: of several the first in the contract's order.
func TestUnreadableIsNamed(t *testing.T) {
	dir := folder(t, filepath.Join(casesDir, "G01"))
	write(t, filepath.Join(dir, "opening.tsv"), "broken\n")
	for _, name := range []string{"opening.tsv", "events.tsv", "dedupe.tsv"} {
		if name != "opening.tsv" {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil { // a folder is as unreadable as nothing
				t.Fatal(err)
			}
		}
		r := hapax(t, "settle", "--in", dir)
		if r.status != 2 || !strings.Contains(r.stderr, "unreadable: "+name) {
			t.Errorf("status %d, want 2 for %s: %s", r.status, name, r.stderr)
		}
	}
}

// TestWrongUsageTouchesNothing: status 64, and the outputs of yesterday lie where they were.
func TestWrongUsageTouchesNothing(t *testing.T) {
	dir := folder(t, filepath.Join(casesDir, "G31/second"))
	write(t, filepath.Join(dir, "report.json"), "yesterday")
	link := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	taken, free := filepath.Join(dir, "taken"), filepath.Join(dir, "free.json")
	for _, d := range []string{taken, free + ".stale/full"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	before := names(t, dir)
	for _, args := range [][]string{
		{"settle"},
		{"settle", "--in", dir, "extra"},
		{"settle", "--in", dir, "--nonsense"},
		{"settle", "--in", dir, "--memory", "plenty"},
		{"settle", "--in", dir, "--memory", "1"},
		{"settle", "--in", dir, "--closing", filepath.Join(dir, "opening.tsv")},
		{"settle", "--in", dir, "--closing", filepath.Join(link, "events.tsv")},
		{"settle", "--in", dir, "--closing", dir + "/../" + filepath.Base(dir) + "/dedupe.tsv"},
		{"settle", "--in", dir, "--closing", filepath.Join(dir, "report.json")},
		{"settle", "--in", dir, "--report", filepath.Join(dir, "policy.tsv")},
		{"settle", "--in", dir, "--malformed", filepath.Join(dir, "report.json")},
		{"settle", "--in", dir, "--report", taken},
		{"settle", "--in", dir, "--report", free}, // which would be moved to a folder's place
		{"settle", "--in", dir, "--malformed", taken},
		{"settle", "--in", dir, "--closing", taken},
	} {
		if r := hapax(t, args...); r.status != 64 {
			t.Errorf("%v: status %d, want 64: %s", args, r.status, r.stderr)
		}
		if after := names(t, dir); after != before {
			t.Fatalf("%v changed the folder: %s, before: %s", args, after, before)
		}
	}
}

// TestOpeningPathWithoutFileIsAnInput: an opening.tsv that isn't there yet may still not be the closing.
func TestOpeningPathWithoutFileIsAnInput(t *testing.T) {
	dir := folder(t, filepath.Join(casesDir, "G01"))
	if r := hapax(t, "settle", "--in", dir, "--closing", filepath.Join(dir, "opening.tsv")); r.status != 64 {
		t.Errorf("status %d, want 64: %s", r.status, r.stderr)
	}
}

// TestMachineFailures: 70, never 2, and no report.
func TestMachineFailures(t *testing.T) {
	t.Run("report's folder missing", func(t *testing.T) {
		dir := folder(t, filepath.Join(casesDir, "G01"))
		if r := hapax(t, "settle", "--in", dir, "--report", filepath.Join(dir, "no", "report.json")); r.status != 70 {
			t.Errorf("status %d, want 70: %s", r.status, r.stderr)
		}
	})
	t.Run("summary can't be written", func(t *testing.T) {
		dir := folder(t, filepath.Join(casesDir, "G01"))
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer full.Close()
		if status := runInto(t, full, "settle", "--in", dir); status != 70 {
			t.Errorf("status %d, want 70", status)
		}
		absent(t, filepath.Join(dir, "report.json"))
	})
}
