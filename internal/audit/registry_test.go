package audit

import (
	"fmt"
	"strings"
	"testing"
)

func TestRegistryRows(t *testing.T) {
	const good = "t\ts\tk\twire\t5\t8"
	cases := []struct{ row, reason string }{
		{good, ""},
		{good + "\t0", ""},
		{good + "\t999999999999999", ""},
		{"t\ts\tk\tschema\t0\t0", ""},
		{"t x\t\uFEFFs\t#k\twire\t5\t8", ""},
		{"t\ts\tk\twire\t5", "columns"},
		{good + "\t0\t", "columns"},
		{good + "\t", "since"},
		{good + "\t01", "since"},
		{good + "\t-1", "since"},
		{"\ts\tk\twire\t5\t8", "tenant"},
		{"t \ts\tk\twire\t5\t8", "tenant"},
		{"t\t\tk\twire\t5\t8", "source"},
		{"t\ts\t\u0085k\twire\t5\t8", "dedupe_key"},
		{"t\ts\tk\u00A0\twire\t5\t8", "dedupe_key"},
		{"t\ts\tk\x00\twire\t5\t8", "dedupe_key"},
		{"t\ts\t" + strings.Repeat("k", 257) + "\twire\t5\t8", "dedupe_key"},
		{"t\ts\tk\t\t5\t8", "scope"},
		{"t\ts\tk\tWIRE\t5\t8", "scope"},
		{"t\ts\tk\tbogus\tx\t8", "scope"},
		{"t\ts\tk\twire\t\t8", "window_s"},
		{"t\ts\tk\twire\t5.0\t8", "window_s"},
		{"t\ts\tk\twire\t5\tabc", "lru_capacity"},
		{"t\ts\tk\twire\t5\t8\r\r", "lru_capacity"},
		{"t\ts\tk\xFF\twire\t5\t8", "line"},
		{"#\xFF", "line"},
		{"t\ts\tk\twire\t5\t" + strings.Repeat("8", 65_536), "line"},
	}
	for _, c := range cases {
		reg, err := readRegistry(strings.NewReader("# first\n"+c.row+"\nz\tz\tz\twire\t1\t1\n"), 0, policy{window: 9})
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if c.reason != "" {
			want = "2 " + c.reason
		}
		if got := badRows(reg.skipped); got != want {
			t.Errorf("%.60q: skipped %q, want %q", c.row, got, want)
		}
		if keys := reg.keys.len(); keys != 2 && c.reason == "" || keys != 1 && c.reason != "" {
			t.Errorf("%.60q: %d keys registered", c.row, keys)
		}
	}
}

// TestStandingRow: the last good row of the key with since ≤ seq stands.
func TestStandingRow(t *testing.T) {
	cases := []struct {
		since []int64         // of the key's rows in the order of the file; a row's window is its place from 1
		want  map[int64]int64 // seq → window of the standing row; 0: not registered
	}{
		{[]int64{0}, map[int64]int64{0: 1, 5: 1}},
		{[]int64{0, 0}, map[int64]int64{0: 2, 5: 2}},
		{[]int64{3}, map[int64]int64{0: 0, 2: 0, 3: 1, 9: 1}},
		{[]int64{0, 3, 7}, map[int64]int64{0: 1, 2: 1, 3: 2, 6: 2, 7: 3, 9: 3}},
		{[]int64{7, 3, 0}, map[int64]int64{0: 3, 2: 3, 3: 3, 9: 3}},
		{[]int64{0, 7, 3}, map[int64]int64{0: 1, 2: 1, 3: 3, 7: 3, 9: 3}},
		{[]int64{5, 2, 5, 4}, map[int64]int64{1: 0, 2: 2, 3: 2, 4: 4, 5: 4}},
		{[]int64{2, 2, 9, 9}, map[int64]int64{1: 0, 2: 2, 8: 2, 9: 4}},
	}
	for _, c := range cases {
		var file strings.Builder
		for i, since := range c.since {
			fmt.Fprintf(&file, "t\ts\tk\twire\t%d\t1\t%d\nt\ts\tother\twire\t77\t1\n", i+1, since)
		}
		reg, err := readRegistry(strings.NewReader(file.String()), 0, policy{})
		if err != nil {
			t.Fatal(err)
		}
		rows := reg.standingRows(nil, 0)
		for seq, want := range c.want {
			got := int64(0)
			if row := standingAt(rows, seq); row != nil {
				got = row.window
			}
			if got != want {
				t.Errorf("since %v, seq %d: row %d stands, want %d", c.since, seq, got, want)
			}
		}
	}
}

func TestCapacityIsThePairsLargestByLastGoodRows(t *testing.T) {
	reg, err := readRegistry(strings.NewReader(
		"t\ts\ta\twire\t1\t9\nt\ts\tb\twire\t1\t4\nt\ts\ta\twire\t1\t2\t50\nt\ts\tb\twire\t1\t99x\nt\tS\ta\twire\t1\t7\nu\ts\ta\twire\t1\t0\n"), 0, policy{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(reg.capacities()); got != "[4 7 0]" {
		t.Errorf("capacities %s, want [4 7 0]", got)
	}
}

// TestKeyTable holds the table against a map, through several growths.
func TestKeyTable(t *testing.T) {
	table, want := newKeyTable(0, 0), map[string]uint32{}
	for i := range 20_000 {
		text := fmt.Sprintf("t%d\ts\tk%d", i%7, i%9_000)
		key, known := table.add([]byte(text))
		if old, there := want[text]; there != known || (there && key != old) {
			t.Fatalf("add(%q) = %d, %t; want %d, %t", text, key, known, old, there)
		}
		want[text] = key
	}
	if table.len() != len(want) {
		t.Errorf("%d keys, want %d", table.len(), len(want))
	}
	for text, number := range want {
		if key, known := table.find([]byte(text)); !known || key != number || string(table.text(key)) != text {
			t.Fatalf("find(%q) = %d, %t", text, key, known)
		}
	}
	if _, known := table.find([]byte("t0\ts\tnowhere")); known {
		t.Error("found what was never added")
	}
}
