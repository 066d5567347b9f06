package audit

import (
	"cmp"
	"slices"
)

// tally is what a share of the keys comes to; tallies of different keys add up to the books.
type tally struct {
	accept, duplicateDone, duplicatePending int64
	unknownKey, badAmount                   int64
	accepted, deduped                       money
	tenants                                 []tenantTally // by the tenant's number
	ledger                                  []entry       // keys with enough deduped events
}

type tenantTally struct {
	accepts  int64
	accepted money
}

// entry is a key in the ledger: its deduped events and the last of them.
type entry struct {
	key             uint32
	hits            int64
	rank, seen, seq int64
}

// chainJudge judges one key's events at a time; it owns nothing but its scratch space.
type chainJudge struct {
	policy   policy
	registry *registry
	openings *openings
	tally    tally
	rows     []standing
}

// judge takes a key's events in the order of the file, sorts them by the order of judging and decides each
// (docs/spec/contract.md, section 2). The events stay sorted.
func (j *chainJudge) judge(key uint32, chain []event) {
	sortChain(chain)
	j.rows = j.registry.standingRows(j.rows[:0], key)
	before, measured := j.openings.of(j.registry.keys.text(key))
	repeats := entry{key: key}
	for i := range chain {
		e := &chain[i]
		row := standingAt(j.rows, e.seq)
		if row == nil {
			j.tally.unknownKey++
			continue
		}
		if e.badAmount() {
			j.tally.badAmount++
			continue
		}
		judged := e.scope()
		if judged == scopeStanding {
			judged = row.scope
		}
		if measured && within(before, e.seen, row.window) && (!j.policy.strict || before.scope == judged) {
			j.tally.dedupe(e, before.pending)
			repeats = entry{key, repeats.hits + 1, e.rank, e.seen, e.seq}
		} else {
			j.tally.take(e, j.registry.tenant[key])
		}
		before, measured = anchor{seen: e.seen, scope: judged, pending: e.pending()}, true
	}
	if repeats.hits >= max(1, j.policy.minHits) {
		j.tally.ledger = append(j.tally.ledger, repeats)
	}
}

// within tells whether an event repeats its predecessor in time, the bound included. Only an opening row can lie
// ahead of the event; its negative gap is within.
func within(before anchor, seen, window int64) bool { return seen-before.seen <= window }

func (t *tally) dedupe(e *event, pending bool) {
	if pending {
		t.duplicatePending++
	} else {
		t.duplicateDone++
	}
	t.deduped.add(money{whole: e.whole, parts: uint64(e.parts())})
}

func (t *tally) take(e *event, tenant uint32) {
	t.accept++
	t.accepted.add(money{whole: e.whole, parts: uint64(e.parts())})
	t.tenants[tenant].accepts++
	t.tenants[tenant].accepted.add(money{whole: e.whole, parts: uint64(e.parts())})
}

// sortChain orders by (seen_at, seq) and leaves equal ones in the order of the file.
func sortChain(chain []event) {
	order := func(a, b event) int {
		return cmp.Or(cmp.Compare(a.seen, b.seen), cmp.Compare(a.seq, b.seq))
	}
	for i := 1; i < len(chain); i++ {
		if order(chain[i-1], chain[i]) > 0 {
			slices.SortStableFunc(chain, order)
			return
		}
	}
}

// standingAt is the row that stands for a seq, of rows with the latest `since` first; nil where the key isn't
// registered at that seq.
func standingAt(rows []standing, seq int64) *standing {
	if len(rows) == 0 || rows[len(rows)-1].since > seq {
		return nil
	}
	at, _ := slices.BinarySearchFunc(rows, seq, func(row standing, seq int64) int { return cmp.Compare(seq, row.since) })
	return &rows[at]
}

// merge adds another share of the keys.
func (t *tally) merge(other *tally) {
	t.accept += other.accept
	t.duplicateDone += other.duplicateDone
	t.duplicatePending += other.duplicatePending
	t.unknownKey += other.unknownKey
	t.badAmount += other.badAmount
	t.accepted.add(other.accepted)
	t.deduped.add(other.deduped)
	for i := range other.tenants {
		t.tenants[i].accepts += other.tenants[i].accepts
		t.tenants[i].accepted.add(other.tenants[i].accepted)
	}
	t.ledger = append(t.ledger, other.ledger...)
}
