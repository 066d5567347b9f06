package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpeningUnreadable(t *testing.T) {
	const good = "t\ts\tk\twire\t5\tdone\n"
	for text, readable := range map[string]bool{
		"":                                       true,
		"# only a comment\n\n":                   true,
		"\uFEFF" + good:                          true,
		good + "t\ts\tk2\tschema\t0\tpending\r":  true,
		good + good:                              false, // the same key twice
		good + "t\ts\tk\tschema\t9\tpending\n":   false,
		"t\ts\tk\t\t5\tdone\n":                   false, // an empty scope is for events
		"t\ts\tk\twire\t05\tdone\n":              false,
		"t\ts\tk\twire\t5\t\n":                   false,
		"t\ts\tk\twire\t5\n":                     false,
		"t\ts\tk\twire\t5\tdone\t\n":             false,
		"t\ts\t k\twire\t5\tdone\n":              false,
		" # x\n":                                 false,
		"#\xFF\n" + good:                         false,
		good + "#" + strings.Repeat("x", 70_000): false,
	} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, openingFile), text)
		_, err := readOpenings(dir)
		var unreadable *UnreadableError
		if readable && err != nil || !readable && (!errors.As(err, &unreadable) || unreadable.File != openingFile) {
			t.Errorf("%.60q: %v; readable: %t", text, err, readable)
		}
	}
}

func TestOpeningThatIsThereAndNoFile(t *testing.T) {
	folder, link := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, openingFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(link, openingFile)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{folder, link} {
		var unreadable *UnreadableError
		if _, err := readOpenings(dir); !errors.As(err, &unreadable) {
			t.Errorf("%v, want unreadable", err)
		}
	}
	if open, err := readOpenings(t.TempDir()); err != nil || len(open.rows) != 0 {
		t.Errorf("no opening.tsv: %v", err)
	}
}

// TestOpeningIsMeasuredAgainst: an opening row is a predecessor whatever its time, and never counted.
func TestOpeningIsMeasuredAgainst(t *testing.T) {
	event := func(seen, scope string) string { return "1\tt\ts\tk\t" + scope + "\t" + seen + "\t1\tdone\t1\n" }
	for _, c := range []struct {
		name, opening, event string
		strict               bool
		want                 string
	}{
		{"on the bound", "t\ts\tk\twire\t100\tdone\n", event("220", ""), false, "duplicate_done"},
		{"past the bound", "t\ts\tk\twire\t100\tdone\n", event("221", ""), false, "accept"},
		{"ahead of the event", "t\ts\tk\twire\t999999999999999\tpending\n", event("0", ""), false, "duplicate_pending"},
		{"another scope", "t\ts\tk\tschema\t100\tdone\n", event("100", ""), true, "accept"},
		{"another scope, not strict", "t\ts\tk\tschema\t100\tdone\n", event("100", ""), false, "duplicate_done"},
		{"the same scope", "t\ts\tk\tschema\t100\tdone\n", event("100", "schema"), true, "duplicate_done"},
		{"another key", "t\ts\tK\twire\t100\tdone\n", event("100", ""), false, "accept"},
		{"another source", "t\ts2\tk\twire\t100\tdone\n", event("100", ""), false, "accept"},
	} {
		t.Run(c.name, func(t *testing.T) {
			counts := folder{opening: c.opening, events: c.event, strict: c.strict}.counts(t)
			if counts[c.want] != 1 || counts["events"] != 1 {
				t.Errorf("counts %v, want one %s", counts, c.want)
			}
		})
	}
	counts := folder{dedupe: "# none\n", opening: "t\ts\tk\twire\t100\tdone\n", events: event("100", "")}.counts(t)
	if counts["unknown_key"] != 1 {
		t.Errorf("counts %v: an opening row registers no key", counts)
	}
}
