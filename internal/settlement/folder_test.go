package settlement

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// feed makes random folders whose times, seqs and ranks meet often.
type feed struct {
	*rand.Rand
	keys, tenants int
}

func newFeed(seed uint64) *feed {
	f := &feed{Rand: rand.New(rand.NewPCG(seed, 7))}
	f.keys, f.tenants = 1+f.IntN(700), 1+f.IntN(5)
	return f
}

func (f *feed) policy() string {
	return fmt.Sprintf("BLOCK_WINDOW_S\t%d\nSCOPE_STRICT\t%d\nLRU_MIN_HITS\t%d\n", f.IntN(60), f.IntN(2), f.IntN(4))
}

func (f *feed) key(n int) string {
	return fmt.Sprintf("tenant-%d\tsource-%d\tkey-%d", n%f.tenants, n%3, n)
}

func (f *feed) registry() string {
	var out strings.Builder
	for n := range f.keys {
		for range 1 + f.IntN(6)/4 {
			fmt.Fprintf(&out, "%s\t%s\t%d\t%d", f.key(n), []string{"schema", "wire"}[f.IntN(2)], f.IntN(2)*f.IntN(90), f.IntN(20))
			if f.IntN(3) == 0 {
				fmt.Fprintf(&out, "\t%d", f.IntN(400))
			}
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// events returns rows whose seen_at lie below span.
func (f *feed) events(rows, span int) []string {
	all := make([]string, rows)
	for i := range all {
		n := f.IntN(f.keys)
		if f.IntN(4) == 0 {
			n = f.IntN(1 + f.keys/50) // a few keys have many events
		}
		scope := []string{"", "", "", "schema", "wire"}[f.IntN(5)]
		amount := []string{"1", "0.5", "0.00000001", "999999999999999999.99999999", fmt.Sprint(f.IntN(1000)), "bad"}[f.IntN(6)]
		state := []string{"done", "done", "pending"}[f.IntN(3)]
		if f.IntN(200) == 0 {
			n += f.keys // unknown
		}
		if f.IntN(200) == 0 {
			state = "?"
		}
		all[i] = fmt.Sprintf("%d\t%s\t%s\t%d\t%s\t%s\t%d\n", f.IntN(500), f.key(n), scope, f.IntN(span), amount, state, f.IntN(50))
	}
	return all
}

// put writes a folder.
func put(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// settled is all that a folder gives.
type settled struct {
	report, broken, closing string
}

// read judges a folder without writing anything.
func read(t testing.TB, dir string, r reading) settled {
	t.Helper()
	in, err := openInputs(dir, func(int64, string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer in.events.Close()
	var broken, closing strings.Builder
	r.broken = func(line int64, why reason) error {
		fmt.Fprintf(&broken, "%d\t%s\n", line, why)
		return nil
	}
	r.keepMarks, r.scratch = true, t.TempDir()
	b, err := in.books(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(r.scratch); err != nil || len(left) != 0 {
		t.Errorf("the scratch folder holds %v (%v)", left, err)
	}
	w := bufio.NewWriter(&closing)
	if err := b.marks.writeClosing(w, in.registry.keys); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return settled{report: string(b.report.Bytes()), broken: broken.String(), closing: closing.String()}
}

// TestBooksDontDependOnHowTheWorkIsCut settles one folder with chunks, memory and workers of many sizes, so that
// lanes are spilled and sorted outside, and the same rows in another order.
func TestBooksDontDependOnHowTheWorkIsCut(t *testing.T) {
	for seed := range uint64(4) {
		f := newFeed(seed)
		files := map[string]string{PolicyFile: f.policy(), DedupeFile: f.registry()}
		rows := f.events(12_000, 5000)
		files[EventsFile] = strings.Join(rows, "")
		dir := put(t, t.TempDir(), files)
		want := read(t, dir, reading{workers: 1})
		if !strings.Contains(want.report, `"hits"`) || want.broken == "" || want.closing == "" {
			t.Fatalf("seed %d: the folder shows too little", seed)
		}
		for _, r := range []reading{
			{workers: 1, sizes: sizes{chunk: longLineBytes + 1}},
			{workers: 4, sizes: sizes{chunk: 70_000}},
			{workers: 3, sizes: sizes{chunk: 70_000, records: 1}},
			{workers: 2, sizes: sizes{chunk: 90_000, records: 20_000, lane: 30}},
			{workers: 3, sizes: sizes{lane: 100}},
			{workers: 2, memory: MinMemory},
		} {
			if got := read(t, dir, r); got != want {
				t.Errorf("seed %d, %+v: other books", seed, r)
			}
		}
		checkOtherOrder(t, f, dir, files, rows)
	}
}

// checkOtherOrder shuffles the rows, each with a seq of its own: that changes nothing but the lines of broken rows.
func checkOtherOrder(t *testing.T, f *feed, dir string, files map[string]string, rows []string) {
	t.Helper()
	for i := range rows {
		_, rest, _ := strings.Cut(rows[i], "\t")
		rows[i] = fmt.Sprintf("%d\t%s", i, rest)
	}
	files[EventsFile] = strings.Join(rows, "")
	want := read(t, put(t, dir, files), reading{})
	f.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	files[EventsFile] = strings.Join(rows, "")
	got := read(t, put(t, dir, files), reading{sizes: sizes{chunk: 80_000, records: 30_000, lane: 20}})
	if got.report != want.report || got.closing != want.closing {
		t.Errorf("the order of the rows shows in the books")
	}
}

// TestEqualEventsGoByTheirPlace: of two rows equal in seen_at and seq the first in the file is accepted.
func TestEqualEventsGoByTheirPlace(t *testing.T) {
	row := func(amount string) string { return "5\tt\ts\tk\t\t100\t" + amount + "\tdone\t1\n" }
	after := "6\tt\ts\tk\t\t101\t100\tdone\t1\n" // so that the rows have to be sorted
	for _, c := range []struct{ events, want string }{
		{after + row("1") + row("10"), `"accepted_total": "1.00"`},
		{after + row("10") + row("1"), `"accepted_total": "10.00"`},
	} {
		dir := put(t, t.TempDir(), map[string]string{
			PolicyFile: "BLOCK_WINDOW_S\t10\nSCOPE_STRICT\t0\nLRU_MIN_HITS\t1\n", DedupeFile: "t\ts\tk\twire\t0\t4\n", EventsFile: c.events,
		})
		for _, r := range []reading{{}, {sizes: sizes{lane: 1}}, {sizes: sizes{lane: 2}}} {
			if got := read(t, dir, r); !strings.Contains(got.report, c.want) {
				t.Errorf("%+v of %q gives %s, want %s", r.sizes, c.events, got.report, c.want)
			}
		}
	}
}

// TestSpillsKeepTheOrderOfTheFile: equal rows far apart in the file, in several spills; the first is accepted.
func TestSpillsKeepTheOrderOfTheFile(t *testing.T) {
	row := func(amount string) string { return "5\tt\ts\tk\t\t100\t" + amount + "\tdone\t1\n" }
	far := strings.Repeat("# "+strings.Repeat("-", 1000)+"\n", 200)
	dir := put(t, t.TempDir(), map[string]string{
		PolicyFile: "BLOCK_WINDOW_S\t10\nSCOPE_STRICT\t0\nLRU_MIN_HITS\t1\n", DedupeFile: "t\ts\tk\twire\t0\t4\n",
		EventsFile: row("7") + far + row("1") + far + row("2") + far + row("3"),
	})
	for _, workers := range []int{1, 4} {
		got := read(t, dir, reading{workers: workers, sizes: sizes{chunk: longLineBytes + 1, records: 1}})
		if !strings.Contains(got.report, `"accepted_total": "7.00"`) || !strings.Contains(got.report, `"deduped_amount": "6.00"`) {
			t.Errorf("%d workers: %s", workers, got.report)
		}
	}
}

// TestOpenings reads openings that are none, and writes a closing sorted as bytes whatever the order of the registry.
func TestOpenings(t *testing.T) {
	const row = "t\ts\tk\twire\t100\tdone\n"
	for text, broken := range map[string]bool{
		"": false, row: false, "# c\n\n" + row: false, "\xef\xbb\xbf" + row: false, row + row: true, row + "t\ts\tk\tschema\t1\tpending\n": true,
		"t\ts\tk\t\t100\tdone\n": true, "t\ts\tk\twire\t100\tdone\tmore\n": true, "#\xff\n": true, "t\ts\tk\twire\t-1\tdone\n": true, " t\ts\tk\twire\t1\tdone\n": true,
	} {
		rows, err := readOpening(strings.NewReader(text), newKeys())
		if (err != nil) != broken {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil && Status(err) != int(Unreadable) {
			t.Errorf("%q has status %d", text, Status(err))
		}
		if !broken && text != "" && len(rows) != 1 {
			t.Errorf("%q has %d rows", text, len(rows))
		}
	}
	want := []string{"a\tb\tz\twire\t1\tdone\n", "a b\tb\tk\tschema\t2\tpending\n", "a!\tb\tk\twire\t3\tdone\n", "ab\tb\ta\twire\t4\tdone\n", "ab\tb\tä\twire\t5\tdone\n", "ab\tb \"c\"\tk\twire\t6\tdone\n"}
	opening := want[4] + want[0] + want[5] + want[3] + want[1] + want[2]
	dir := put(t, t.TempDir(), map[string]string{PolicyFile: toolsPolicy, DedupeFile: "", EventsFile: "", OpeningFile: opening})
	if got := read(t, dir, reading{}).closing; got != strings.Join(want, "") {
		t.Errorf("the closing of the opening is\n%s", got)
	}
}

// TestSplitAtAnyTime settles a file whole, and in two parts of which the second opens with the closing of the first:
// the sums of the parts are those of the whole, and both end with the same closing.
func TestSplitAtAnyTime(t *testing.T) {
	const span = 400
	for seed := range uint64(25) {
		f := newFeed(seed)
		files := map[string]string{PolicyFile: f.policy(), DedupeFile: f.registry()}
		rows := f.events(300, span)
		cut := f.IntN(span)
		var early, late []string
		for _, row := range rows {
			if seenAt := strings.Split(row, "\t")[5]; atoi(t, seenAt) < cut {
				early = append(early, row)
			} else {
				late = append(late, row)
			}
		}
		files[EventsFile] = strings.Join(rows, "")
		whole := read(t, put(t, t.TempDir(), files), reading{})
		files[EventsFile] = strings.Join(early, "")
		first := read(t, put(t, t.TempDir(), files), reading{})
		files[EventsFile], files[OpeningFile] = strings.Join(late, ""), first.closing
		second := read(t, put(t, t.TempDir(), files), reading{})
		if second.closing != whole.closing {
			t.Errorf("seed %d, cut at %d: another closing", seed, cut)
		}
		if got, want := sums(t, first.report, second.report), sums(t, whole.report); got != want {
			t.Errorf("seed %d, cut at %d: the parts sum to\n%s\nthe whole to\n%s", seed, cut, got, want)
		}
	}
}

// sums adds counts and amounts of reports up and writes them as one text.
func sums(t *testing.T, reports ...string) string {
	t.Helper()
	counts := map[string]int64{}
	amounts := map[string]*big.Rat{}
	add := func(name, text string) {
		r, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%s is %q", name, text)
		}
		if amounts[name] == nil {
			amounts[name] = new(big.Rat)
		}
		amounts[name].Add(amounts[name], r)
	}
	for _, text := range reports {
		var r struct {
			Accepted_total, Deduped_amount string
			Counts                         map[string]int64
			Tenant_totals                  map[string]string
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		for name, n := range r.Counts {
			counts[name] += n
		}
		add("accepted", r.Accepted_total)
		add("deduped", r.Deduped_amount)
		for tenant, total := range r.Tenant_totals {
			add("tenant "+tenant, total)
		}
	}
	return fmt.Sprint(counts, amounts)
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
