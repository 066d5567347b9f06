package audit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// ledgerOf gives the ledger as `key×hits`, oldest first.
func ledgerOf(t *testing.T, f folder) string {
	t.Helper()
	var entries []struct {
		Tenant, Source string
		Key            string `json:"dedupe_key"`
		Hits           int
	}
	if err := json.Unmarshal([]byte(f.field(t, "lru")), &entries); err != nil {
		t.Fatal(err)
	}
	text := make([]string, len(entries))
	for i, e := range entries {
		text[i] = fmt.Sprintf("%s/%s/%s×%d", e.Tenant, e.Source, e.Key, e.Hits)
	}
	return strings.Join(text, " ")
}

// hits writes one accepted and n deduped events of a key, the last of them with the given rank, time and seq.
func hits(key string, n, rank, seen, seq int) string {
	row := func(seq, seen, rank int) string {
		return fmt.Sprintf("%d\t%s\t\t%d\t1\tdone\t%d\n", seq, key, seen, rank)
	}
	text := row(0, seen-1, 999)
	for i := range n - 1 {
		text += row(i+1, seen-1, 999-i)
	}
	return text + row(seq, seen, rank)
}

func TestLedger(t *testing.T) {
	registry := func(capacity string, keys ...string) string {
		var text string
		for _, key := range keys {
			text += key + "\twire\t0\t" + capacity + "\n"
		}
		return text
	}
	policy := func(minHits int) string {
		return fmt.Sprintf("BLOCK_WINDOW_S\t100\nSCOPE_STRICT\t0\nLRU_MIN_HITS\t%d\n", minHits)
	}
	a, b, c := "t\ts\ta", "t\ts\tb", "t\ts\tc"
	cases := []struct {
		name string
		folder
		want string
	}{
		{"none", folder{policy: policy(1), dedupe: registry("8", a), events: at()}, ""},
		{"one hit at threshold 1", folder{policy: policy(1), dedupe: registry("8", a), events: hits(a, 1, 5, 500, 50)}, "t/s/a×1"},
		{"threshold 0 still needs a hit", folder{policy: policy(0), dedupe: registry("8", a, b), events: hits(a, 1, 5, 500, 50) + "9\t" + b + "\t\t0\t1\tdone\t1\n"}, "t/s/a×1"},
		{"under the threshold", folder{policy: policy(3), dedupe: registry("8", a), events: hits(a, 2, 5, 500, 50)}, ""},
		{"at the threshold", folder{policy: policy(3), dedupe: registry("8", a), events: hits(a, 3, 5, 500, 50)}, "t/s/a×3"},
		{"oldest rank first", folder{policy: policy(1), dedupe: registry("8", a, b), events: hits(a, 1, 9, 100, 1) + hits(b, 1, 4, 900, 99)}, "t/s/b×1 t/s/a×1"},
		{"equal rank: by time", folder{policy: policy(1), dedupe: registry("8", a, b), events: hits(a, 1, 4, 900, 1) + hits(b, 1, 4, 100, 99)}, "t/s/b×1 t/s/a×1"},
		{"equal rank and time: by seq", folder{policy: policy(1), dedupe: registry("8", a, b), events: hits(a, 1, 4, 100, 9) + hits(b, 1, 4, 100, 8)}, "t/s/b×1 t/s/a×1"},
		{"all equal: by key", folder{policy: policy(1), dedupe: registry("8", c, b, a), events: hits(c, 1, 4, 100, 9) + hits(b, 1, 4, 100, 9) + hits(a, 1, 4, 100, 9)}, "t/s/a×1 t/s/b×1 t/s/c×1"},
		{"all equal: by tenant, then source", folder{policy: policy(1), dedupe: registry("8", "t\ts b\ta", "t\ts\tb", "t b\ts\ta"),
			events: hits("t b\ts\ta", 1, 4, 100, 9) + hits("t\ts b\ta", 1, 4, 100, 9) + hits("t\ts\tb", 1, 4, 100, 9)}, "t/s/b×1 t/s b/a×1 t b/s/a×1"},
		{"names as UTF-8, not UTF-16", folder{policy: policy(1), dedupe: registry("8", "t\ts\t\U00010000", "t\ts\t\uE000"),
			events: hits("t\ts\t\U00010000", 1, 4, 100, 9) + hits("t\ts\t\uE000", 1, 4, 100, 9)}, "t/s/\uE000×1 t/s/\U00010000×1"},
		{"the least recent go", folder{policy: policy(1), dedupe: registry("2", a, b, c), events: hits(a, 1, 7, 100, 9) + hits(b, 9, 3, 100, 9) + hits(c, 1, 8, 100, 9)}, "t/s/a×1 t/s/c×1"},
		{"capacity 0", folder{policy: policy(1), dedupe: registry("0", a), events: hits(a, 5, 7, 100, 9)}, ""},
		{"the pair's largest capacity", folder{policy: policy(1), dedupe: registry("0", a, b) + registry("2", c), events: hits(a, 1, 7, 100, 9) + hits(b, 1, 8, 100, 9)}, "t/s/a×1 t/s/b×1"},
		{"by the last good row", folder{policy: policy(1), dedupe: registry("9", a) + registry("1", a, b) + registry("x", a), events: hits(a, 1, 7, 100, 9) + hits(b, 1, 8, 100, 9)}, "t/s/b×1"},
		{"each pair has its own room", folder{policy: policy(1), dedupe: registry("1", a, b, "t\tS\ta", "u\ts\ta"),
			events: hits(a, 1, 1, 100, 9) + hits(b, 1, 2, 100, 9) + hits("t\tS\ta", 1, 3, 100, 9) + hits("u\ts\ta", 1, 0, 100, 9)}, "u/s/a×1 t/s/b×1 t/S/a×1"},
		{"recency is the last deduped, not the last event", folder{policy: policy(1), dedupe: registry("1", a, b),
			events: hits(a, 1, 5, 100, 9) + "77\t" + a + "\t\t900\t1\tdone\t99\n" + hits(b, 1, 6, 100, 9)}, "t/s/b×1"},
		{"the last in the order of judging, not of the file or of rank", folder{policy: policy(1), dedupe: registry("8", a, b),
			events: "3\t" + a + "\t\t12\t1\tdone\t1\n2\t" + a + "\t\t11\t1\tdone\t50\n1\t" + a + "\t\t10\t1\tdone\t60\n" + hits(b, 1, 2, 100, 9)}, "t/s/a×2 t/s/b×1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := ledgerOf(t, c.folder); got != c.want {
				t.Errorf("ledger %q, want %q", got, c.want)
			}
		})
	}
}

func TestLedgerEntry(t *testing.T) {
	f := folder{
		policy: "BLOCK_WINDOW_S\t100\nSCOPE_STRICT\t0\nLRU_MIN_HITS\t1\n", dedupe: "t\"\ts\\\tk/<\u2028>\twire\t0\t8\n",
		events: hits("t\"\ts\\\tk/<\u2028>", 2, 7, 100, 9),
	}
	want := `[{"dedupe_key":"k/<` + "\u2028" + `>","hits":2,"lru_rank":7,"seen_at":100,"seq":9,"source":"s\\","tenant":"t\""}]`
	if got := f.field(t, "lru"); got != want {
		t.Errorf("lru %s, want %s", got, want)
	}
}
