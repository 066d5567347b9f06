package settlement

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"hapax/internal/settle"
)

const toolsPolicy = "BLOCK_WINDOW_S\t100\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t1\n"

func whyLines(t *testing.T, dir, key string) string {
	t.Helper()
	chain, err := Why(context.Background(), dir, "t", "s", key)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, s := range chain.Steps {
		fmt.Fprintf(&out, "%d %s: %s\n", s.Line, s.Outcome.Decision, s.Reason)
	}
	for _, b := range chain.Broken {
		fmt.Fprintf(&out, "%d malformed: %s\n", b.Line, b.Why)
	}
	return out.String()
}

// TestWhySaysWhy goes through every reason.
func TestWhySaysWhy(t *testing.T) {
	dir := put(t, t.TempDir(), map[string]string{
		PolicyFile:  toolsPolicy,
		DedupeFile:  "t\ts\tk\twire\t0\t8\t2\nt\ts\topened\twire\t0\t8\nt\ts\tbad row\tbogus\t0\t8\n",
		OpeningFile: "t\ts\topened\twire\t9000\tpending\n",
		EventsFile: "# rows\n9\tt\ts\tk\t\t1400\t1\tdone\t1\n" +
			"1\tt\ts\tk\t\t900\t1\tdone\t1\n2\tt\ts\tk\t\t1000\t1\tpending\t1\n3\tt\ts\tk\t\t1100\t1\tdone\t1\n4\tt\ts\tk\t\t1101\t1,5\tdone\t1\n" +
			"5\tt\ts\tk\tschema\t1110\t1\tdone\t1\n6\tt\ts\tk\t\t1300\t1\tdone\t1\n7\tt\ts\tk\t\tsoon\t1\tdone\t1\n8\tt\ts\tother\tk\t1\t1\tdone\t1\n" +
			"1\tt\ts\topened\t\t5\t1\tdone\t1\n1\tt\ts\tbad row\t\t5\t1\tdone\t1\n",
	})
	want := `3 unknown_key: the key is registered only from a later seq than 1 on
4 accept: the first of its key
5 duplicate_pending: 100 s after line 4 (seq 2), which was pending, within the window of 100 s
6 bad_amount: "1,5" is no amount
7 accept: 10 s after line 5 (seq 3), within the window of 100 s, but its scope schema isn't wire
8 accept: 190 s after line 7 (seq 5), beyond the window of 100 s
2 duplicate_done: 100 s after line 8 (seq 6), which was done, within the window of 100 s
9 malformed: seen_at
`
	if got := whyLines(t, dir, "k"); got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
	if got, want := whyLines(t, dir, "opened"), "11 duplicate_pending: -8995 s after its opening row, which was pending, within the window of 100 s\n"; got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
	if got, want := whyLines(t, dir, "bad row"), "12 unknown_key: no good row of dedupe.tsv names the key\n"; got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
	if got := whyLines(t, dir, "never seen"); got != "" {
		t.Errorf("a key without events has %q", got)
	}
}

func TestWhyFaults(t *testing.T) {
	good := map[string]string{PolicyFile: toolsPolicy, DedupeFile: "", EventsFile: ""}
	for _, c := range []struct {
		without, key string
		status       int
	}{{PolicyFile, "k", 3}, {DedupeFile, "k", 2}, {EventsFile, "k", 2}, {"", " k", 64}, {"", "", 64}} {
		files := map[string]string{}
		for name, text := range good {
			if name != c.without {
				files[name] = text
			}
		}
		if _, err := Why(context.Background(), put(t, t.TempDir(), files), "t", "s", c.key); err == nil || Status(err) != c.status {
			t.Errorf("without %q, key %q: %v, want status %d", c.without, c.key, err, c.status)
		}
	}
}

// TestWhyAgreesWithTheBooks counts the decisions of all chains of random folders.
func TestWhyAgreesWithTheBooks(t *testing.T) {
	f := newFeed(3)
	f.keys = 12
	dir := put(t, t.TempDir(), map[string]string{PolicyFile: f.policy(), DedupeFile: f.registry(), EventsFile: strings.Join(f.events(400, 900), "")})
	whole := read(t, dir, reading{})
	var counts settle.Counts
	for n := range 2 * f.keys {
		names := strings.Split(f.key(n), "\t")
		chain, err := Why(context.Background(), dir, names[0], names[1], names[2])
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range chain.Steps {
			counts.Add(s.Outcome.Decision)
		}
	}
	for name, n := range map[string]int64{"events": counts.Events(), "accept": counts.Accept, "duplicate_pending": counts.DuplicatePending, "duplicate_done": counts.DuplicateDone, "unknown_key": counts.UnknownKey, "bad_amount": counts.BadAmount} {
		if !strings.Contains(whole.report, fmt.Sprintf("%q: %d", name, n)) {
			t.Errorf("the chains have %d %s, the report is %s", n, name, whole.report)
		}
	}
}

// TestAdviceIsWhatSettlingWouldGive settles random folders again under each window and compares.
func TestAdviceIsWhatSettlingWouldGive(t *testing.T) {
	for seed := range uint64(6) {
		f := newFeed(seed)
		f.keys = 1 + f.keys%40
		strict := f.IntN(2)
		rows := strings.Join(f.events(600, 700), "")
		var registry strings.Builder
		for n := range f.keys {
			fmt.Fprintf(&registry, "%s\twire\t0\t4\n", f.key(n))
		}
		folder := func(window int64) string {
			policy := fmt.Sprintf("BLOCK_WINDOW_S\t%d\nSCOPE_STRICT\t%d\nLRU_MIN_HITS\t1\n", window, strict)
			return put(t, t.TempDir(), map[string]string{PolicyFile: policy, DedupeFile: registry.String(), EventsFile: rows})
		}
		advice, err := Advise(context.Background(), folder(25), []int64{0, 7, 60, 10_000}, 0)
		if err != nil {
			t.Fatal(err)
		}
		all := deduped(t, folder(10_000)) // what a window beyond all gaps dedupes are the repeats
		if got := fmt.Sprint(advice.Repeats.Events, " ", advice.Repeats.Amount.String()); got != fmt.Sprint(all.events, " ", text(all.amount)) {
			t.Errorf("seed %d: repeats %s, want %d %s", seed, got, all.events, text(all.amount))
		}
		if len(advice.Windows) != 5 || advice.Configured != 25 || advice.Windows[2].WindowS != 25 || advice.Windows[2].LetThrough != advice.LetThrough {
			t.Fatalf("seed %d: advice %+v", seed, advice)
		}
		for i := range advice.Windows {
			w := &advice.Windows[i]
			within := deduped(t, folder(w.WindowS))
			want := fmt.Sprint(all.events-within.events, " ", text(new(big.Rat).Sub(all.amount, within.amount)))
			if got := fmt.Sprint(w.LetThrough.Events, " ", w.LetThrough.Amount.String()); got != want {
				t.Errorf("seed %d, window %d lets through %s, want %s", seed, w.WindowS, got, want)
			}
		}
		if got := deduped(t, folder(advice.LongestGapS)); got.events != all.events {
			t.Errorf("seed %d: a window of the longest gap, %d s, lets something through", seed, advice.LongestGapS)
		}
		if got := deduped(t, folder(advice.LongestGapS-1)); got.events == all.events {
			t.Errorf("seed %d: a gap of %d s isn't the longest", seed, advice.LongestGapS)
		}
	}
}

type repeats struct {
	events int64
	amount *big.Rat
}

// text writes an exact sum as settle does.
func text(r *big.Rat) string {
	out := r.FloatString(8)
	for strings.HasSuffix(out, "0") && len(out)-strings.IndexByte(out, '.') > 3 {
		out = out[:len(out)-1]
	}
	return out
}

func deduped(t *testing.T, dir string) repeats {
	t.Helper()
	in, err := openInputs(dir, func(int64, string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer in.events.Close()
	b, err := in.books(context.Background(), reading{scratch: t.TempDir(), broken: func(int64, reason) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	amount, ok := new(big.Rat).SetString(b.report.Totals.Deduped.String())
	if !ok {
		t.Fatalf("%s is no number", b.report.Totals.Deduped.String())
	}
	return repeats{events: b.report.Totals.Counts.Dedupe(), amount: amount}
}
