package audit

import (
	"bytes"
	"cmp"
	"slices"
)

// settleLedger orders the entries by recency, oldest first, and lets the least recent of each (tenant, source) go
// beyond its capacity (docs/spec/contract.md, section 3).
func settleLedger(entries []entry, reg *registry) []entry {
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(
			cmp.Compare(a.rank, b.rank), cmp.Compare(a.seen, b.seen), cmp.Compare(a.seq, b.seq),
			bytes.Compare(reg.keys.text(a.key), reg.keys.text(b.key)),
		)
	})
	room := reg.capacities()
	first := len(entries)
	for i := len(entries) - 1; i >= 0; i-- {
		pair := reg.pair[entries[i].key]
		if room[pair] > 0 {
			room[pair]--
			first--
			entries[first] = entries[i]
		}
	}
	return entries[first:]
}
