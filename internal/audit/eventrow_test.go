package audit

import (
	"strings"
	"testing"
)

func TestMalformedRows(t *testing.T) {
	long := strings.Repeat("x", 257)
	for _, c := range []struct{ row, reason string }{
		{"1\tt\ts\tk\twire\t5\t1.5\tdone\t3", ""},
		{"0\tt\ts\tk\t\t0\t\tpending\t0", ""},
		{"1\tt\ts\tk\twire\t5\tany thing \x00 at all\tdone\t3", ""}, // the amount's rule is judged
		{"1\tt\ts\tunregistered\twire\t5\t1\tdone\t3", ""},
		{"1\tt\ts\tk\twire\t5\t1.5\tdone", "columns"},
		{"1\tt\ts\tk\twire\t5\t1.5\tdone\t3\t", "columns"},
		{"1", "columns"},
		{"\r\r", "columns"},
		{" # x", "columns"},
		{"\tt\ts\tk\twire\t5\t1.5\tdone\t3", "seq"},
		{"-1\tt\ts\tk\twire\t5\t1.5\tdone\t3", "seq"},
		{"01\t\ts\tk\twire\t5\t1.5\tdone\t3", "seq"},
		{"1000000000000000\tt\ts\tk\twire\t5\t1.5\tdone\t3", "seq"},
		{"\uFEFF1\tt\ts\tk\twire\t5\t1.5\tdone\t3", "seq"},
		{"1\t\t\t\twrong\tx\t1.5\tx\tx", "tenant"},
		{"1\t#t\ts\tk\twire\t5\t1.5\tdone\t3", "tenant"},
		{"1\t" + long + "\ts\tk\twire\t5\t1.5\tdone\t3", "tenant"},
		{"1\tt\ts\u2003\tk\twire\t5\t1.5\tdone\t3", "source"},
		{"1\tt\ts\tk\u0080k\twire\t5\t1.5\tdone\t3", "dedupe_key"},
		{"1\tt\ts\t\twire\t5\t1.5\tdone\t3", "dedupe_key"},
		{"1\tt\ts\tk\tWire\tx\t1.5\tdone\t3", "scope"},
		{"1\tt\ts\tk\t \t5\t1.5\tdone\t3", "scope"},
		{"1\tt\ts\tk\twire\t\t1.5\tx\t3", "seen_at"},
		{"1\tt\ts\tk\twire\t5.0\t1.5\tdone\t3", "seen_at"},
		{"1\tt\ts\tk\twire\t5\tbad\tDone\tx", "state"},
		{"1\tt\ts\tk\twire\t5\tbad\t\t3", "state"},
		{"1\tt\ts\tk\twire\t5\t1.5\tdone\t", "lru_rank"},
		{"1\tt\ts\tk\twire\t5\t1.5\tdone\t3\r\r", "lru_rank"},
		{"1\tt\ts\tk\twire\t5\t1.5\tdone\t3 ", "lru_rank"},
		{"1\tt\ts\tk\xC3\twire\t5\t1.5\tdone\t3", "line"},
		{"#\xFF", "line"},
		{"1\tt\ts\tk\twire\t5\t" + strings.Repeat("9", 65_536) + "\tdone\t3", "line"},
	} {
		books := folder{events: "# first\n\n" + c.row + "\n2\tt\ts\tk\t\t5000\t1\tdone\t1\n"}.books(t)
		want, events := "", `"events":2`
		if c.reason != "" {
			want, events = "3 "+c.reason, `"events":1`
		}
		if got := badRows(books.Malformed); got != want {
			t.Errorf("%.60q: malformed %q, want %q", c.row, got, want)
		}
		if counts := string(books.fields["counts"]); !strings.Contains(counts, events) {
			t.Errorf("%.60q: counts %s, want %s", c.row, counts, events)
		}
	}
}

// TestMalformedLinesAreCountedAcrossChunks: the numbers are the file's, however it was dealt to the workers.
func TestMalformedLinesAreCountedAcrossChunks(t *testing.T) {
	good := strings.Repeat("1\tt\ts\tk\twire\t5\t1.5\tdone\t3\n", 40_000) // over four chunks
	books := folder{events: good + "x\n" + good + "#\xFF\n"}.books(t)
	if got := badRows(books.Malformed); got != "40001 columns, 80002 line" {
		t.Errorf("malformed %q", got)
	}
	if counts := string(books.fields["counts"]); !strings.Contains(counts, `"events":80000`) {
		t.Errorf("counts %s", counts)
	}
}
