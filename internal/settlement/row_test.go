package settlement

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"hapax/internal/settle"
)

// The columns by regular expressions: the contract's text once more, in another style.
var (
	integerColumn = regexp.MustCompile(`^(0|[1-9][0-9]{0,14})$`)
	scopeColumn   = regexp.MustCompile(`^(schema|wire)$`)
	optionalScope = regexp.MustCompile(`^(schema|wire)?$`)
	stateColumn   = regexp.MustCompile(`^(done|pending)$`)
)

func nameColumn(text string) bool {
	return len(text) > 0 && len(text) <= 256 && strings.TrimFunc(text, unicode.IsSpace) == text && strings.IndexFunc(text, unicode.IsControl) < 0
}

func tenantColumn(text string) bool { return nameColumn(text) && text[0] != '#' }

type column struct {
	name string
	ok   func(string) bool
}

func anything(string) bool { return true }

var (
	keyColumns    = []column{{"tenant", tenantColumn}, {"source", nameColumn}, {"dedupe_key", nameColumn}}
	eventColumns  = append(append([]column{{"seq", integerColumn.MatchString}}, keyColumns...), column{"scope", optionalScope.MatchString}, column{"seen_at", integerColumn.MatchString}, column{"amount", anything}, column{"state", stateColumn.MatchString}, column{"lru_rank", integerColumn.MatchString})
	dedupeColumns = append(append([]column{}, keyColumns...), column{"scope", scopeColumn.MatchString}, column{"window_s", integerColumn.MatchString}, column{"lru_capacity", integerColumn.MatchString}, column{"since", integerColumn.MatchString})
	openColumns   = append(append([]column{}, keyColumns...), column{"scope", scopeColumn.MatchString}, column{"seen_at", integerColumn.MatchString}, column{"state", stateColumn.MatchString})
)

// verdict says what a line of a file is: "skip", "" for a good row, or the reason.
func verdict(line string, columns []column, optional int) string {
	if len(line) > 65_536 || !utf8.ValidString(line) {
		return "line"
	}
	if strings.Trim(line, " \t") == "" || line[0] == '#' {
		return "skip"
	}
	texts := strings.Split(line, "\t")
	if len(texts) > len(columns) || len(texts) < len(columns)-optional {
		return "columns"
	}
	for i, text := range texts {
		if !columns[i].ok(text) {
			return columns[i].name
		}
	}
	return ""
}

func got(line []byte, parse func([]byte) reason) string {
	switch kindOf(line) {
	case lineBroken:
		return "line"
	case lineSkipped:
		return "skip"
	}
	return parse(line).String()
}

var rowSeeds = []string{
	"1\tacme\tpay\tk\t\t1000\t1.00\tdone\t1", "0\tt\ts\tk\twire\t0\t0\tpending\t0", "12\ta b\té\t\"q\"\tschema\t999999999999999\t0.00000001\tdone\t7",
	"01\tt\ts\tk\t\t1\t1\tdone\t1", "1\t#t\ts\tk\t\t1\t1\tdone\t1", "1\tt\ts\tk \t\t1\t1\tdone\t1", "1\tt\ts\tk\tWIRE\t1\t1\tdone\t1", "1\tt\ts\tk\t\t1\t1\tdone\t1\t",
	"1\tt\ts\tk\t\t1\tx\tdone\t1", "1\tt\ts\tk\t\t1\t\tdone\t1", "# c", "", " \t ", "\xff", "#\xff", "1\tt\ts\tk\t\t1\t1\tdone\t1\r", "1\tt\ts\tk\x00\t\t1\t1\tdone\t1",
	"x\tt\ts\tk\tWIRE\tx\t1\tx\tx", "1\tt\t\tk\tWIRE\tx\t1\tx\tx", // several columns fail: the first is named
	"t\ts\tk\twire\t0\t8", "t\ts\tk\tschema\t60\t8\t12", "t\ts\tk\twire\t0\t8\t", "t\ts\tk\t\t0\t8", "t\ts\tk\twire\t100\tdone", "t\ts\tk\twire\t100\tpending", "t\t\tk\twire\t100\tpending",
	strings.Repeat("a", 65_536), strings.Repeat("a", 65_537), "#" + strings.Repeat("a", 65_536), strings.Repeat(" ", 65_537), strings.Repeat("\t", 9),
	"1\tt\ts\tk\t\t01\t1\tdone\t1", "1\tt\ts\tk\t\t1\t1\tdone\t01", "1\tt\ts\tk\t\t1\t01\tdone\t1", "1000000000000000\tt\ts\tk\t\t1\t1\tdone\t1", "1\tt\ts\tk\t\t1\t1\tdone\t1 ",
}

// checkRow holds the three parsers to the columns, and the fast way of an event to the slow one.
func checkRow(t *testing.T, line string) {
	t.Helper()
	raw := []byte(line)
	for _, c := range []struct {
		file     string
		columns  []column
		optional int
		parse    func([]byte) reason
	}{
		{EventsFile, eventColumns, 0, func(row []byte) reason { _, _, why := eventRow(row); return why }},
		{DedupeFile, dedupeColumns, 1, func(row []byte) reason { _, _, why := registryRow(row); return why }},
		{OpeningFile, openColumns, 0, func(row []byte) reason { _, _, why := openingRow(row); return why }},
	} {
		if got, want := got(raw, c.parse), verdict(line, c.columns, c.optional); got != want {
			t.Errorf("%s: %q is %q, want %q", c.file, line, got, want)
		}
	}
	checkFast(t, raw)
}

// checkFast registers the key of a row where its names are good, whatever else the row has, and reads it both ways.
func checkFast(t *testing.T, line []byte) {
	t.Helper()
	known := newKeys()
	slow, why := settle.Event{}, badLine
	if kindOf(line) == lineRow {
		_, slow, why = eventRow(line)
		var c [9][]byte
		if columns(line, c[:]) >= 4 && tenantColumn(string(c[1])) && nameColumn(string(c[2])) && nameColumn(string(c[3])) {
			known.add(keyName{tenant: c[1], source: c[2], key: c[3]})
		}
	}
	var fast settle.Event
	pair, key, ok := fastEvent(line, &fast)
	if !ok {
		return
	}
	if _, found := known.find(pair, key); found && (why != good || fast != slow) {
		t.Errorf("%q: fast %+v, slow %+v %q", line, fast, slow, why)
	}
}

func TestRows(t *testing.T) {
	for _, line := range rowSeeds {
		checkRow(t, line)
	}
}

// TestOrdinaryRowsGoFast: or else the fast way would agree by never being taken.
func TestOrdinaryRowsGoFast(t *testing.T) {
	var e settle.Event
	for _, line := range rowSeeds[:3] {
		if _, _, ok := fastEvent([]byte(line), &e); !ok {
			t.Errorf("%q goes the slow way", line)
		}
	}
}

func FuzzRow(f *testing.F) {
	for _, line := range rowSeeds {
		f.Add(line)
	}
	f.Fuzz(checkRow)
}

// TestEveryColumnBroken breaks each column of a good row in every way and expects its name as the reason.
func TestEveryColumnBroken(t *testing.T) {
	for _, row := range []string{rowSeeds[0], "t\ts\tk\tschema\t60\t8\t12", "t\ts\tk\twire\t100\tdone"} {
		texts := strings.Split(row, "\t")
		for i := range texts {
			for _, bad := range []string{"", " ", "01", "-1", "1 ", "wire ", "Done", "#", "\u00a0a", "a\x01", strings.Repeat("k", 257), "1000000000000000", "é"} {
				broken := append(append(append([]string{}, texts[:i]...), bad), texts[i+1:]...)
				checkRow(t, strings.Join(broken, "\t"))
			}
		}
	}
}

func TestRecordsKeepEvents(t *testing.T) {
	events := []entry{
		{key: 0, event: settle.Event{AmountOK: true}},
		{key: 1<<24 - 1, event: settle.Event{Seq: 999999999999999, SeenAt: 999999999999999, LRURank: 999999999999999, AmountOK: true,
			Amount: settle.Amount{Whole: 999999999999999999, Fraction: 99999999}, Scope: settle.ScopeWire, State: settle.StatePending}},
		{key: 77, event: settle.Event{Seq: 127, SeenAt: 128, LRURank: 16384, AmountOK: true, Amount: settle.Amount{Fraction: 50_000_000}, Scope: settle.ScopeSchema}},
		{key: 78, event: settle.Event{AmountOK: true, Amount: settle.Amount{Whole: 3, Fraction: 1}}},
	}
	var text []byte
	for _, e := range events {
		before := len(text)
		text = appendRecord(text, e.key, &e.event)
		if n := len(text) - before; n > maxRecord {
			t.Errorf("a record takes %d bytes", n)
		}
	}
	for _, want := range events {
		var got entry
		text = readRecord(text, &got)
		if got != want {
			t.Errorf("%+v reads as %+v", want, got)
		}
	}
	if len(text) != 0 {
		t.Errorf("%d bytes are left", len(text))
	}
}

// wantPolicy reads policy.tsv by the letter, in another style.
func wantPolicy(text string) (settle.Policy, bool) {
	values := map[string]string{}
	for _, line := range plainLines([]byte(text)) {
		switch v := verdict(line, []column{{"key", anything}, {"value", anything}}, 0); {
		case v == "skip":
			continue
		case v != "":
			return settle.Policy{}, false
		}
		key, value, _ := strings.Cut(line, "\t")
		if _, twice := values[key]; twice || !integerColumn.MatchString(value) {
			return settle.Policy{}, false
		}
		values[key] = value
	}
	var p settle.Policy
	if _, err := fmt.Sscan(values["BLOCK_WINDOW_S"], &p.BlockWindowS); err != nil {
		return settle.Policy{}, false
	}
	if _, err := fmt.Sscan(values["LRU_MIN_HITS"], &p.LRUMinHits); err != nil {
		return settle.Policy{}, false
	}
	p.ScopeStrict = values["SCOPE_STRICT"] == "1"
	return p, len(values) == 3 && (p.ScopeStrict || values["SCOPE_STRICT"] == "0")
}

var policySeeds = []string{
	"BLOCK_WINDOW_S\t100\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t2\n", "\xef\xbb\xbf# c\r\nSCOPE_STRICT\t0\r\n\r\nLRU_MIN_HITS\t0\r\nBLOCK_WINDOW_S\t999999999999999",
	"BLOCK_WINDOW_S\t100\nSCOPE_STRICT\t2\nLRU_MIN_HITS\t2\n", "BLOCK_WINDOW_S\t100\nSCOPE_STRICT\t1\n", "BLOCK_WINDOW_S\t1\nBLOCK_WINDOW_S\t1\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t2\n",
	"X\t1\nBLOCK_WINDOW_S\t100\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t2\n", "BLOCK_WINDOW_S\t01\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t2\n", "BLOCK_WINDOW_S 1\n", "#\xff\n",
	"BLOCK_WINDOW_S\t100\t\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t2\n", "SCOPE_STRICT\t01\nBLOCK_WINDOW_S\t1\nLRU_MIN_HITS\t2\n",
	"BLOCK_WINDOW_S\t1\nLRU_MIN_HITS\t1\n", "SCOPE_STRICT\t1\nLRU_MIN_HITS\t1\n", "", "SCOPE_STRICT\t1\nLRU_MIN_HITS\t1\nLRU_MIN_HITS\t1\nBLOCK_WINDOW_S\t1\n",
}

func checkPolicy(t *testing.T, text string) {
	want, ok := wantPolicy(text)
	got, err := parsePolicy(strings.NewReader(text))
	if (err == nil) != ok || ok && got != want {
		t.Errorf("%q: %+v (%v), want %+v %t", text, got, err, want, ok)
	}
	if err != nil && Status(err) != int(Contract) {
		t.Errorf("%q: status %d", text, Status(err))
	}
}

func TestPolicies(t *testing.T) {
	for _, text := range policySeeds {
		checkPolicy(t, text)
	}
}

func FuzzPolicy(f *testing.F) {
	for _, text := range policySeeds {
		f.Add(text)
	}
	f.Fuzz(checkPolicy)
}
