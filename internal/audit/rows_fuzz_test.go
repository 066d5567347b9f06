package audit

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// The rules of columns once more, as slow and as near to the contract's words as can be.
var (
	integerRule = regexp.MustCompile(`\A(0|[1-9][0-9]{0,14})\z`).MatchString
	scopeRule   = regexp.MustCompile(`\A(schema|wire)\z`).MatchString
	stateRule   = regexp.MustCompile(`\A(done|pending)\z`).MatchString
	anyRule     = func(string) bool { return true }
	eventScope  = func(text string) bool { return text == "" || scopeRule(text) }
	tenantRule  = func(text string) bool { return nameRule(text) && !strings.HasPrefix(text, "#") }
)

func nameRule(text string) bool {
	return len(text) >= 1 && len(text) <= 256 && !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Cc, r) }) &&
		strings.TrimFunc(text, func(r rune) bool { return unicode.Is(unicode.White_Space, r) }) == text
}

type column struct {
	name string
	rule func(string) bool
}

var (
	eventRules = []column{
		{"seq", integerRule}, {"tenant", tenantRule}, {"source", nameRule}, {"dedupe_key", nameRule}, {"scope", eventScope},
		{"seen_at", integerRule}, {"amount", anyRule}, {"state", stateRule}, {"lru_rank", integerRule},
	}
	registryRules = []column{
		{"tenant", tenantRule}, {"source", nameRule}, {"dedupe_key", nameRule}, {"scope", scopeRule}, {"window_s", integerRule},
		{"lru_capacity", integerRule}, {"since", integerRule},
	}
	openingRules = []column{
		{"tenant", tenantRule}, {"source", nameRule}, {"dedupe_key", nameRule}, {"scope", scopeRule}, {"seen_at", integerRule}, {"state", stateRule},
	}
)

// naiveFaults lists the rows of a text that break a rule, as `LINE REASON`.
func naiveFaults(text string, rules []column, least int) string {
	var faults []string
	for _, row := range naiveRows(text) { // which shows a tab as a bar; the text holds no other
		if before, broken := strings.CutSuffix(row, "!"); broken && !strings.Contains(row, ":") {
			faults = append(faults, before+" line")
			continue
		}
		line, rest, _ := strings.Cut(row, ":")
		columns := strings.Split(rest, "|")
		reason := ""
		if len(columns) < least || len(columns) > len(rules) {
			reason = "columns"
		}
		for i := 0; reason == "" && i < len(columns); i++ {
			if !rules[i].rule(columns[i]) {
				reason = rules[i].name
			}
		}
		if reason != "" {
			faults = append(faults, line+" "+reason)
		}
	}
	return strings.Join(faults, ", ")
}

// FuzzRows reads one text as each of the three files and holds the faults found against the naive reading.
func FuzzRows(f *testing.F) {
	for _, seed := range []string{
		"", "1\tt\ts\tk\twire\t5\t1.5\tdone\t3\n", "t\ts\tk\twire\t5\t8\nt\ts\tk\twire\t5\t8\t0\r\n", "t\ts\tk\twire\t5\tdone\n# x\n",
		"1\tt\ts\tk\t\t5\t\tpending\t3\r", "\uFEFF01\t#t\t s\tk\u0085\tWIRE\t05\t1\tDONE\tx", "x\ty\n\xFF\n\t\t\n", "\u3000t\ts\tk\twire\t5\t8\n", "t\ts\tk\twire\t5\t8\t\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "|", "/")
		reg, err := readRegistry(strings.NewReader(text), 0, policy{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := badRows(reg.skipped), naiveFaults(text, registryRules, 6); got != want {
			t.Errorf("dedupe.tsv %q: %q, want %q", text, got, want)
		}
		ev, err := readEvents(strings.NewReader(text), reg.keys)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := badRows(ev.malformed), naiveFaults(text, eventRules, 9); got != want {
			t.Errorf("events.tsv %q: %q, want %q", text, got, want)
		}
		broken := false
		err = eachRow(strings.NewReader(text), func(_ int, columns [][]byte) error {
			if _, ok := openingRow(columns); !ok {
				broken = true
			}
			return nil
		})
		if err != nil || broken != (naiveFaults(text, openingRules, 6) != "") {
			t.Errorf("opening.tsv %q: broken %t, %v", text, broken, err)
		}
	})
}

// TestRegisteredKeysHaveGoodNames is what lets a row of a registered key pass without looking at its names again.
func TestRegisteredKeysHaveGoodNames(t *testing.T) {
	reg, err := readRegistry(strings.NewReader(plainDedupe+" t\ts\tk\twire\t0\t8\nt\ts\tk \twire\t0\t8\n#t\ts\tk\twire\t0\t8\n"), 0, policy{})
	if err != nil {
		t.Fatal(err)
	}
	for key := range reg.keys.len() {
		text := reg.keys.text(uint32(key))
		if tenant, source, dedupeKey := keyParts(text); badName(tenant, source, dedupeKey) != "" || bytes.Count(text, []byte{'\t'}) != 2 {
			t.Errorf("%q is registered", text)
		}
	}
}
