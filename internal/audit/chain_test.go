package audit

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// at writes events of the one key at the given times, seq from 1.
func at(times ...int) string {
	var text strings.Builder
	for i, seen := range times {
		fmt.Fprintf(&text, "%d\tt\ts\tk\t\t%d\t1\tdone\t1\n", i+1, seen)
	}
	return text.String()
}

func TestJudging(t *testing.T) {
	copies := func(n, gap int) (times []int) {
		for i := range n {
			times = append(times, i*gap)
		}
		return times
	}
	window := func(w string) string { return "t\ts\tk\twire\t" + w + "\t8\n" }
	cases := []struct {
		name string
		folder
		accept, done, pending, unknown, bad int
	}{
		{name: "G01: the anchor is the predecessor", folder: folder{events: at(0, 60, 120, 180, 240)}, accept: 1, done: 4},
		{name: "G02: 46 copies within the window", folder: folder{dedupe: window("3600"), events: at(copies(46, 2320)...)}, accept: 1, done: 45},
		{name: "G02: one gap too long", folder: folder{dedupe: window("3600"), events: at(append(copies(40, 2320), 39*2320+3601)...)}, accept: 2, done: 39},
		{name: "G04: five copies", folder: folder{events: at(7, 7, 7, 7, 7)}, accept: 1, done: 4},
		{name: "G05: the bound is inside", folder: folder{events: at(1000, 1120)}, accept: 1, done: 1},
		{name: "G05: past the bound", folder: folder{events: at(1000, 1121)}, accept: 2},
		{name: "window 0 is BLOCK_WINDOW_S", folder: folder{dedupe: window("0"), events: at(0, 120, 241)}, accept: 2, done: 1},
		{name: "BLOCK_WINDOW_S 0: the same second only", folder: folder{
			policy: "BLOCK_WINDOW_S\t0\nSCOPE_STRICT\t0\nLRU_MIN_HITS\t1\n", events: at(5, 5, 6)}, accept: 2, done: 1},
		{name: "G22: out of order", folder: folder{events: at(240, 0, 120, 60, 180)}, accept: 1, done: 4},
		{name: "G22: a year 3000", folder: folder{events: at(0, 32503680000, 60)}, accept: 2, done: 1},
		{name: "largest times", folder: folder{dedupe: window("999999999999999"), events: at(999999999999999, 0)}, accept: 1, done: 1},
		{name: "pending predecessor", folder: folder{
			events: "1\tt\ts\tk\t\t0\t1\tpending\t1\n2\tt\ts\tk\t\t1\t1\tdone\t1\n3\tt\ts\tk\t\t2\t1\tpending\t1\n"}, accept: 1, done: 1, pending: 1},
		{name: "a rejected event is no predecessor", folder: folder{
			events: "1\tt\ts\tk\t\t0\tbad\tpending\t1\n2\tt\ts\tk\t\t1\t1\tdone\t1\n3\tt\ts\tk\t\t2\t-\tpending\t1\n4\tt\ts\tk\t\t3\t1\tdone\t1\n"}, accept: 1, done: 1, bad: 2},
		{name: "a malformed row is no predecessor", folder: folder{
			events: "1\tt\ts\tk\t\t0\t1\tpending\tx\n2\tt\ts\tk\t\t1\t1\tdone\t1\n"}, accept: 1},
		{name: "unknown before bad amount", folder: folder{
			dedupe: "t\ts\tk\twire\t0\t8\t2\n", events: "1\tt\ts\tk\t\t0\tbad\tdone\t1\n1\tt\ts\tx\t\t0\tbad\tdone\t1\n2\tt\ts\tk\t\t0\tbad\tdone\t1\n"}, unknown: 2, bad: 1},
		{name: "strict: another scope is accepted and becomes the anchor", folder: folder{strict: true,
			events: "1\tt\ts\tk\twire\t0\t1\tdone\t1\n2\tt\ts\tk\tschema\t1\t1\tpending\t1\n3\tt\ts\tk\tschema\t2\t1\tdone\t1\n4\tt\ts\tk\twire\t3\t1\tdone\t1\n"}, accept: 3, pending: 1},
		{name: "strict: an empty scope is the standing row's", folder: folder{strict: true,
			events: "1\tt\ts\tk\t\t0\t1\tdone\t1\n2\tt\ts\tk\twire\t1\t1\tdone\t1\n3\tt\ts\tk\tschema\t2\t1\tdone\t1\n"}, accept: 2, done: 1},
		{name: "strict: the standing row's scope changes with since", folder: folder{strict: true,
			dedupe: "t\ts\tk\twire\t0\t8\nt\ts\tk\tschema\t0\t8\t2\n", events: at(0, 1, 2)}, accept: 2, done: 1},
		{name: "the window is the standing row's at the event", folder: folder{
			dedupe: "t\ts\tk\twire\t10\t8\nt\ts\tk\twire\t100\t8\t3\n", events: at(0, 50, 100, 150)}, accept: 2, done: 2},
		{name: "equal times go by seq", folder: folder{
			events: "2\tt\ts\tk\t\t0\t1\tdone\t1\n1\tt\ts\tk\t\t0\t1\tpending\t1\n"}, accept: 1, pending: 1},
		{name: "equal seq go by place", folder: folder{
			events: "1\tt\ts\tk\t\t0\t1\tpending\t1\n1\tt\ts\tk\t\t0\t1\tdone\t1\n"}, accept: 1, pending: 1},
		{name: "keys aren't folded", folder: folder{dedupe: plainDedupe + "T\ts\tk\twire\t0\t8\nt\ts\tK\twire\t0\t8\n",
			events: "1\tt\ts\tk\t\t0\t1\tdone\t1\n2\tT\ts\tk\t\t0\t1\tdone\t1\n3\tt\ts\tK\t\t0\t1\tdone\t1\n4\tt\tS\tk\t\t0\t1\tdone\t1\n"}, accept: 3, unknown: 1},
		{name: "composed and decomposed are two keys", folder: folder{dedupe: "t\ts\té\twire\t0\t8\nt\ts\te\u0301\twire\t0\t8\n",
			events: "1\tt\ts\té\t\t0\t1\tdone\t1\n2\tt\ts\te\u0301\t\t0\t1\tdone\t1\n"}, accept: 2},
		{name: "the parts of a key don't run together", folder: folder{dedupe: "ab\tc\tk\twire\t0\t8\na\tbc\tk\twire\t0\t8\n",
			events: "1\tab\tc\tk\t\t0\t1\tdone\t1\n2\ta\tbc\tk\t\t0\t1\tdone\t1\n"}, accept: 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := c.counts(t)
			want := map[string]int{
				"accept": c.accept, "duplicate_done": c.done, "duplicate_pending": c.pending, "dedupe": c.done + c.pending,
				"unknown_key": c.unknown, "bad_amount": c.bad, "reject": c.unknown + c.bad,
				"events": c.accept + c.done + c.pending + c.unknown + c.bad,
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("counts %v, want %v", got, want)
			}
		})
	}
}

func TestTotals(t *testing.T) {
	f := folder{
		dedupe: "t\ts\tk\twire\t0\t8\nu\ts\tk\twire\t0\t8\nv\ts\tk\twire\t0\t8\n\uE000\ts\tk\twire\t0\t8\n\U00010000\ts\tk\twire\t0\t8\n10\ts\tk\twire\t0\t8\n9\ts\tk\twire\t0\t8\n",
		events: "1\tt\ts\tk\t\t0\t0.125\tdone\t1\n2\tt\ts\tk\t\t1\t0.5\tdone\t1\n3\tt\ts\tk\t\t500\t0.125\tdone\t1\n" +
			"4\tu\ts\tk\t\t0\t0\tdone\t1\n5\tv\ts\tk\t\t0\t1,5\tdone\t1\n6\tw\ts\tk\t\t0\t7\tdone\t1\n" +
			"7\t\uE000\ts\tk\t\t0\t1\tdone\t1\n8\t\U00010000\ts\tk\t\t0\t1\tdone\t1\n9\t9\ts\tk\t\t0\t1\tdone\t1\n10\t10\ts\tk\t\t0\t1\tdone\t1\n",
	}
	for name, want := range map[string]string{
		"accepted_total": `"4.25"`,
		"deduped_amount": `"0.50"`,
		"window_hits":    `1`,
		"ok":             `false`,
		// By UTF-16 code units: U+10000 before U+E000; a tenant without an accepted event isn't there.
		"tenant_totals": "{\"10\":\"1.00\",\"9\":\"1.00\",\"t\":\"0.25\",\"u\":\"0.00\",\"\U00010000\":\"1.00\",\"\uE000\":\"1.00\"}",
	} {
		if got := f.field(t, name); got != want {
			t.Errorf("%s %s, want %s", name, got, want)
		}
	}
}

// TestSameBooksOnAnyNumberOfProcessors: dealing work out changes nothing, nor does the order of keys in a long file.
func TestSameBooksOnAnyNumberOfProcessors(t *testing.T) {
	dir := t.TempDir()
	if err := generate(dir, 60_000, 9_000); err != nil {
		t.Fatal(err)
	}
	var first string
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, n := range []int{1, 2, 3, 8} {
		runtime.GOMAXPROCS(n)
		books, err := Recompute(dir)
		if err != nil {
			t.Fatal(err)
		}
		report := string(books.Report())
		if first == "" {
			first = report
		}
		if report != first {
			t.Fatalf("%d processors give another report", n)
		}
	}
	if !strings.Contains(first, `"events": 60000`) {
		t.Errorf("report %.300s", first)
	}
}
