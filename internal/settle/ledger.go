package settle

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// Recency orders ledger entries: the values of a key's last deduped event in the order of judging.
type Recency struct {
	LRURank, SeenAt, Seq int64
}

func (r Recency) compare(other Recency) int {
	return cmp.Or(cmp.Compare(r.LRURank, other.LRURank), cmp.Compare(r.SeenAt, other.SeenAt), cmp.Compare(r.Seq, other.Seq))
}

// Entry is one key of the ledger.
type Entry struct {
	Tenant, Source, DedupeKey string
	Hits                      int64
	Recency
}

// Compare is the order of the ledger, oldest first; ties go by tenant, source, dedupe_key as bytes.
func (e *Entry) Compare(other *Entry) int {
	return cmp.Or(e.compare(other.Recency),
		strings.Compare(e.Tenant, other.Tenant),
		strings.Compare(e.Source, other.Source),
		strings.Compare(e.DedupeKey, other.DedupeKey))
}

// Qualifies reports whether a key with so many dedupes has an entry: at least LRU_MIN_HITS, and at least one.
func (p *Policy) Qualifies(hits int64) bool { return hits >= 1 && hits >= p.LRUMinHits }

// Shelf holds the ledger entries of one (tenant, source): at most its capacity, the least recent go first. It
// is filled once, after the last event, so what it holds in the end doesn't depend on the order of offers.
type Shelf struct {
	capacity int64
	entries  oldestFirst
}

// NewShelf makes an empty shelf. Capacity is the largest lru_capacity among the pair's keys, each by its last
// good row.
func NewShelf(capacity int64) *Shelf { return &Shelf{capacity: capacity} }

// Wants reports whether an entry of this recency could be kept, so that a caller needn't build the others.
func (s *Shelf) Wants(r Recency) bool {
	if int64(len(s.entries)) < s.capacity {
		return true
	}
	return s.capacity > 0 && s.entries[0].compare(r) <= 0
}

// Offer takes an entry in and drops the least recent one where the shelf is over its capacity.
func (s *Shelf) Offer(e Entry) {
	if s.capacity == 0 {
		return
	}
	heap.Push(&s.entries, e)
	if int64(len(s.entries)) > s.capacity {
		heap.Pop(&s.entries)
	}
}

// Entries returns what the shelf holds, in no order.
func (s *Shelf) Entries() []Entry { return s.entries }

// SortLedger puts entries in the order of the report, oldest first.
func SortLedger(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int { return a.Compare(&b) })
}

type oldestFirst []Entry

func (h oldestFirst) Len() int           { return len(h) }
func (h oldestFirst) Less(i, j int) bool { return h[i].Compare(&h[j]) < 0 }
func (h oldestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *oldestFirst) Push(x any)        { *h = append(*h, x.(Entry)) }
func (h *oldestFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
