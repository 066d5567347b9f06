package settlement

import (
	"slices"
	"sort"

	"hapax/internal/settle"
)

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

// list appends the rows of a key from its head on: since falls.
func (r *registry) list(head uint32, to []*settle.Registration) []*settle.Registration {
	for ; head != 0; head = r.rows[head].before {
		to = append(to, &r.rows[head].registration)
	}
	return to
}

// standingAt finds the first row with since ≤ seq; nil where there is none.
func standingAt(rows []*settle.Registration, seq int64) *settle.Registration {
	if len(rows) > 0 && rows[0].Since <= seq {
		return rows[0]
	}
	at := sort.Search(len(rows), func(i int) bool { return rows[i].Since <= seq })
	if at == len(rows) {
		return nil
	}
	return rows[at]
}

// inMemory judges a lane that is decoded as a whole: grouped by key by counting, which keeps the order of the file,
// then ordered within a key where that is needed.
type inMemory struct {
	judge   *judge
	entries []entry // in the order of the file
	grouped []settle.Event
	ends    []uint32 // of the keys' groups
}

func (m *inMemory) run(lane uint32, keys int) {
	m.group(keys)
	start := uint32(0)
	for within, end := range m.ends {
		events := m.grouped[start:end]
		start = end
		if len(events) == 0 {
			continue
		}
		order(events)
		m.judge.begin(keyOf(lane, uint32(within)))
		for i := range events {
			m.judge.take(&events[i])
		}
		m.judge.finish()
	}
}

func (m *inMemory) group(keys int) {
	m.ends = append(m.ends[:0], make([]uint32, keys)...)
	for i := range m.entries {
		m.ends[m.entries[i].key]++
	}
	at := uint32(0)
	for key, count := range m.ends {
		m.ends[key] = at // for now the start
		at += count
	}
	m.grouped = slices.Grow(m.grouped[:0], len(m.entries))[:len(m.entries)]
	for i := range m.entries {
		e := &m.entries[i]
		m.grouped[m.ends[e.key]] = e.event
		m.ends[e.key]++
	}
}

// order sorts the events of a key for judging; equal ones stay in the order of the file.
func order(events []settle.Event) {
	for i := 1; i < len(events); i++ {
		if events[i].Before(&events[i-1]) {
			slices.SortStableFunc(events, func(a, b settle.Event) int {
				return (&entry{event: a}).compare(&entry{event: b})
			})
			return
		}
	}
}
