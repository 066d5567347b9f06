package audit

import (
	"encoding/binary"
	"hash/maphash"
)

// rowSet stands for a set of rows in no order: two are equal where the rows are, but for less than a fault of memory (see keyID). So rows that
// point at others are compared both ways, none missing and none more, in one reading and without holding them.
type rowSet struct {
	sums [2]uint64
	rows int64
}

func (t *rowSet) add(h *hasher, fact []byte, times int64) {
	t.sums[0] += uint64(times) * maphash.Bytes(h.first, fact)
	t.sums[1] += uint64(times) * maphash.Bytes(h.second, fact)
	t.rows += times
}

// indexes are what rows are found by: as the store has it, and as the rows themselves say it must be.
type indexes struct {
	found, want map[string]*rowSet
	fact        []byte
}

func newIndexes() indexes { return indexes{found: map[string]*rowSet{}, want: map[string]*rowSet{}} }

// add takes a row in. Rows that count others are taken apart into what they count.
func (x *indexes) add(h *hasher, into map[string]*rowSet, i *StatedIndex, times int64) {
	t := into[i.Kind]
	if t == nil {
		t = &rowSet{}
		into[i.Kind] = t
	}
	x.fact = appendField(appendName(x.fact[:0], i.Tenant, i.Source, i.Key), i.Currency)
	for _, n := range [...]int64{i.Number, i.At, i.Count} {
		x.fact = binary.BigEndian.AppendUint64(x.fact, uint64(n))
	}
	t.add(h, x.fact, times)
}

// mustHave says that the store must have a row.
func (p *prover) mustHave(i StatedIndex) { p.indexes.add(&p.fold.hash, p.indexes.want, &i, 1) }

// indexKey says what a key, as it is kept, must be found and counted by.
func (p *prover) indexKey(s *StatedKey) {
	if s.Registered {
		p.mustHave(StatedIndex{Kind: IndexCapacity, Tenant: s.Tenant, Source: s.Source, Number: s.LRUCapacity})
	}
	for i := range s.Hits {
		if h := &s.Hits[i]; h.Count >= max(1, p.fold.policy.minHits) {
			p.mustHave(StatedIndex{Kind: IndexRepeats, Currency: h.Currency, Tenant: s.Tenant, Source: s.Source, Key: s.Key, Number: h.LRURank, At: h.SeenAt, Count: h.Count})
		}
	}
}

// What queued rows count.
const (
	countsWaiting = 1
	countsDead    = 2
)

// indexRow says what a row of the outbox, as it is kept, must be found and counted by.
func (p *prover) indexRow(s *StatedRow) {
	i := StatedIndex{Kind: IndexDue, Tenant: s.Tenant, Source: s.Source, Number: s.Number, At: s.Due}
	queued := StatedIndex{Kind: IndexQueued, Tenant: s.Tenant, Source: s.Source, Number: countsWaiting}
	switch {
	case s.Dead:
		i.Kind, i.At, queued.Number = IndexDead, 0, countsDead
		p.mustHave(StatedIndex{Kind: IndexTenantDead, Tenant: s.Tenant, Number: s.Number})
	case s.Held:
		i.Kind, i.At, i.Key = IndexHeld, 0, s.Key
	}
	p.mustHave(i)
	p.mustHave(queued)
}

// compareIndexes reads what rows are found and counted by, and compares it with the rows.
func (p *prover) compareIndexes() error {
	n := 0
	for s, err := range p.log.Index() {
		if n++; err == nil && n%PaceRecords == 0 {
			err = p.pause()
		}
		if err != nil {
			return err
		}
		p.foundIndex(*s)
	}
	for _, kind := range [...]string{IndexDue, IndexHeld, IndexDead, IndexTenantDead, IndexQueued, IndexCapacity, IndexTwin, IndexRepeats} {
		p.compareSets(kind, p.indexes.found[kind], p.indexes.want[kind])
	}
	return nil
}

func (p *prover) foundIndex(s StatedIndex) {
	add := func(times int64) { p.indexes.add(&p.fold.hash, p.indexes.found, &s, times) }
	switch s.Kind {
	case IndexCapacity:
		times := s.Count
		if s.Count = 0; times < 1 {
			p.issues.books("index of capacities: that %d keys of %q %q have %d is kept", times, s.Tenant, s.Source, s.Number)
		}
		add(times)
	case IndexQueued:
		waiting, dead := s.Waiting, s.Dead
		if s.Waiting, s.Dead = 0, 0; waiting < 0 || dead < 0 || waiting+dead == 0 {
			p.issues.books("counts of the outbox: of %q %q %d waiting rows and %d dead ones are kept", s.Tenant, s.Source, waiting, dead)
		}
		s.Number = countsWaiting
		add(waiting)
		s.Number = countsDead
		add(dead)
	case IndexTwin:
		p.foundTwin(&s)
	default:
		add(1)
	}
}

func (p *prover) compareSets(kind string, found, want *rowSet) {
	if found == nil {
		found = &rowSet{}
	}
	if want == nil {
		want = &rowSet{}
	}
	switch {
	case found.rows != want.rows:
		p.issues.books("index %q: %d rows are found by it, by the rows themselves it is %d", kind, found.rows, want.rows)
	case found.sums != want.sums:
		p.issues.books("index %q: it has as many rows as it must, but not those: `hapax verify` names them", kind)
	}
}

// compareIDs compares what events are found by with the events.
func (p *prover) compareIDs() error {
	found, n := rowSet{}, 0
	for s, err := range p.log.IDs() {
		if n++; err == nil && n%PaceRecords == 0 {
			err = p.pause()
		}
		if err != nil {
			return err
		}
		p.indexes.fact = appendID(p.indexes.fact[:0], []byte(s.ID), s.Number)
		found.add(&p.fold.hash, p.indexes.fact, 1)
	}
	p.compareSets("ids", &found, &p.fold.ids)
	return nil
}

func appendID(into, id []byte, number int64) []byte {
	return append(binary.BigEndian.AppendUint64(into, uint64(number)), id...)
}
