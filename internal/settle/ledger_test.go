package settle

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestQualifies(t *testing.T) {
	for _, c := range []struct {
		min, hits int64
		want      bool
	}{{0, 0, false}, {0, 1, true}, {1, 0, false}, {1, 1, true}, {2, 1, false}, {2, 2, true}, {3, 2, false}, {3, 4, true}} {
		p := Policy{LRUMinHits: c.min}
		if got := p.Qualifies(c.hits); got != c.want {
			t.Errorf("LRU_MIN_HITS %d, %d hits: %t", c.min, c.hits, got)
		}
	}
}

func entry(key string, rank, seenAt, seq int64) Entry {
	return Entry{Tenant: "t", Source: "s", DedupeKey: key, Hits: 2, Recency: Recency{LRURank: rank, SeenAt: seenAt, Seq: seq}}
}

func TestLedgerOrder(t *testing.T) {
	inOrder := []Entry{
		entry("z", 1, 9, 9), entry("y", 2, 3, 9), entry("x", 2, 4, 1), entry("a", 2, 4, 2), entry("b", 2, 4, 2),
		{Tenant: "t", Source: "t", DedupeKey: "a", Recency: Recency{2, 4, 2}}, {Tenant: "u", Source: "a", DedupeKey: "a", Recency: Recency{2, 4, 2}},
	}
	shuffled := slices.Clone(inOrder)
	slices.Reverse(shuffled)
	SortLedger(shuffled)
	if !slices.Equal(shuffled, inOrder) {
		t.Errorf("order %v", shuffled)
	}
}

// TestShelf compares it with keeping everything and cutting the least recent off.
func TestShelf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.Int64Range(0, 3)
		capacity := rapid.Int64Range(0, 6).Draw(t, "capacity")
		keys := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-d]{1,2}`), 0, 12, rapid.ID[string]).Draw(t, "keys")
		shelf := NewShelf(capacity)
		var all []Entry
		for _, key := range keys {
			e := entry(key, small.Draw(t, "rank"), small.Draw(t, "seen_at"), small.Draw(t, "seq"))
			all = append(all, e)
			if shelf.Wants(e.Recency) {
				shelf.Offer(e)
			}
		}
		SortLedger(all)
		want := all[max(0, len(all)-int(capacity)):]
		got := slices.Clone(shelf.Entries())
		SortLedger(got)
		if !slices.Equal(got, want) {
			t.Errorf("capacity %d of %v holds %v, want %v", capacity, all, got, want)
		}
	})
}

func TestOfferWithoutCapacity(t *testing.T) {
	shelf := NewShelf(0)
	shelf.Offer(entry("a", 1, 1, 1))
	if shelf.Wants(Recency{9, 9, 9}) || len(shelf.Entries()) != 0 {
		t.Error("a shelf of no capacity holds something")
	}
}
