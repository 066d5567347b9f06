package settlement

import "hapax/internal/settle"

// observer sees every judged event of a known key with a good amount, those of a key in order, and the key's book as
// it was before.
type observer func(o settle.Outcome, before *settle.KeyBook, e *settle.Event)

// judge is the books of one worker: it is given the entries of a lane by key and, within a key, in order.
type judge struct {
	policy   *settle.Policy
	registry *registry
	marks    *marks   // nil where there is neither opening nor closing
	observe  observer // nil: none

	totals  settle.Totals
	tenants []settle.Tenant
	shelves map[uint32]*settle.Shelf // by pair

	key    uint32 // the number of the current key
	record []byte // nil before the first key
	rows   []*settle.Registration
	book   settle.KeyBook
}

func newJudge(policy *settle.Policy, registry *registry, marks *marks) *judge {
	return &judge{
		policy:   policy,
		registry: registry,
		marks:    marks,
		tenants:  make([]settle.Tenant, len(registry.keys.pairs.names)),
		shelves:  map[uint32]*settle.Shelf{},
	}
}

// begin turns to another key; finish must have been called for the one before.
func (j *judge) begin(key uint32) {
	j.key = key
	j.record = j.registry.keys.record(key)
	j.rows = j.registry.list(rowsOf(j.record), j.rows[:0])
	j.book = settle.KeyBook{}
	if j.marks != nil {
		j.marks.open(key, &j.book)
	}
}

// take judges the next event of the current key.
func (j *judge) take(e *settle.Event) {
	before := j.book
	o := j.book.Take(j.policy, standingAt(j.rows, e.Seq), e)
	j.totals.Add(&j.tenants[j.registry.keys.pairs.list[pairOf(j.record)].tenant], o, e)
	if j.observe != nil {
		j.observe(o, &before, e)
	}
}

// finish ends the current key: it goes to the ledger, and its predecessor to the closing.
func (j *judge) finish() {
	if j.marks != nil {
		j.marks.close(j.key, &j.book)
	}
	if !j.policy.Qualifies(j.book.Hits) {
		return
	}
	at := pairOf(j.record)
	p := &j.registry.keys.pairs.list[at]
	shelf := j.shelves[at]
	if shelf == nil {
		shelf = settle.NewShelf(p.capacity)
		j.shelves[at] = shelf
	}
	if !shelf.Wants(j.book.LastHit) {
		return
	}
	shelf.Offer(settle.Entry{
		Tenant:    j.registry.keys.pairs.names[p.tenant],
		Source:    p.source,
		DedupeKey: nameOf(j.record),
		Hits:      j.book.Hits,
		Recency:   j.book.LastHit,
	})
}
