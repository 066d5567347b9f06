package settlement

import (
	"io"
	"sort"

	"hapax/internal/settle"
)

// registry is dedupe.tsv: the known keys and, for each, which row stands for which event.
type registry struct {
	keys *keys
	rows []standing // rows[0] stands for none
	seen map[standing]uint32
}

// standing is a good row with those before it that can still stand for an event. Of a key's rows the last with
// since ≤ seq stands, so an earlier row counts only for events before every later row's since: the list of a key has
// since falling from its head (the last row of the file) on. Equal lists are shared between keys.
type standing struct {
	registration settle.Registration
	before       uint32 // next of the list, 0: none
	first        int64  // the list's smallest since: the key is unknown to events below
}

// maxShared bounds the index of equal lists; beyond it lists are no longer shared, only stored. In most files a
// handful of different rows serve all keys.
const maxShared = 1 << 16

func newRegistry() *registry {
	return &registry{keys: newKeys(), rows: make([]standing, 1), seen: map[standing]uint32{}}
}

// load reads the file. Broken rows register nothing and are told to skipped.
func (r *registry) load(file io.Reader, skipped func(line int64, why reason)) error {
	return eachLine(file, func(number int64, line []byte) error {
		switch kindOf(line) {
		case lineBroken:
			skipped(number, badLine)
			return nil
		case lineSkipped:
			return nil
		}
		name, registration, why := registryRow(line)
		if why != good {
			skipped(number, why)
			return nil
		}
		record, _ := r.keys.add(name)
		setRows(record, r.push(rowsOf(record), registration))
		return nil
	})
}

// push puts a row of the file before the list of its key and drops those that can no longer stand.
func (r *registry) push(head uint32, registration settle.Registration) uint32 {
	for head != 0 && r.rows[head].registration.Since >= registration.Since {
		head = r.rows[head].before
	}
	row := standing{registration: registration, before: head, first: registration.Since}
	if head != 0 {
		row.first = r.rows[head].first
	}
	if at, ok := r.seen[row]; ok {
		return at
	}
	at := uint32(len(r.rows))
	r.rows = append(r.rows, row)
	if len(r.seen) < maxShared {
		r.seen[row] = at
	}
	return at
}

// loaded ends the filling: it drops the index and works out the capacity of every pair.
func (r *registry) loaded() {
	r.seen = nil
	for number := range uint32(r.keys.count) {
		record := r.keys.record(number)
		if head := rowsOf(record); head != 0 {
			p := &r.keys.pairs.list[pairOf(record)]
			p.capacity = max(p.capacity, r.rows[head].registration.LRUCapacity)
		}
	}
}

// knows reports whether a row of the list stands for an event of that seq.
func (r *registry) knows(head uint32, seq int64) bool { return head != 0 && r.rows[head].first <= seq }

// stands returns the row of the list that stands for an event of that seq; nil where there is none.
func (r *registry) stands(head uint32, seq int64) *settle.Registration {
	for ; head != 0; head = r.rows[head].before {
		if row := &r.rows[head]; row.registration.Since <= seq {
			return &row.registration
		}
	}
	return nil
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

// bytes is about how much memory the registry takes.
func (r *registry) bytes() int64 { return r.keys.bytes() + int64(cap(r.rows))*56 }
