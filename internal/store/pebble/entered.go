package pebble

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/gateway"
)

// writer puts what a commit of the gateway changed into a batch: the rows, and what readers find them by. Rows whose bytes
// are those on disk are left out.
type writer struct {
	batch   *lsm.Batch
	e       *entering
	value   []byte
	looked  [][]byte // keys written that lookups ask for
	dueGone [][]byte
	dueNew  [][]byte
}

// set writes a row. A batch that isn't indexed can't fail.
func (w *writer) set(key, value []byte) { _ = w.batch.Set(key, value, nil) }

func (w *writer) drop(key []byte) { _ = w.batch.Delete(key, nil) }

// put writes a row whose bytes changed, and says whether they did.
func (w *writer) put(r *diskRow, value []byte) bool {
	w.value = value
	if r.was != nil && bytes.Equal(r.was, value) {
		return false
	}
	w.set(r.key, value)
	return true
}

func (w *writer) rows() error {
	w.logRows()
	if err := w.tenantRows(); err != nil {
		return err
	}
	capacities, err := w.keyRows()
	if err != nil {
		return err
	}
	w.sourceRows()
	w.twinRows()
	w.bookRows()
	queued, err := w.outboxRows()
	if err != nil {
		return err
	}
	w.askedRows()
	if err := w.addCapacities(capacities); err != nil {
		return err
	}
	return w.addQueued(queued)
}

func (w *writer) logRows() {
	e := w.e
	if e.headWas == nil {
		e.headWas = appendHead(nil, &gateway.Head{})
	}
	w.put(&diskRow{key: headKey, was: e.headWas}, appendHead(w.value[:0], &e.head))
	first := e.head.Number - int64(len(e.log)) + 1
	for i, record := range e.log {
		w.set(numbered(tableLog, first+int64(i)), record)
	}
	// One table after the other, each in the order of its keys: the memtable finds a row's place from that of the row before.
	for i := range e.events {
		if ev := &e.events[i]; ev.body != nil {
			w.value = appendBody(w.value[:0], ev.body)
			w.set(bodyKey(ev.name.Tenant, ev.name.Source, e.now, ev.number), w.value)
		}
	}
	slices.SortFunc(e.events, func(a, b event) int { return strings.Compare(a.id, b.id) })
	for i := range e.events {
		w.set(idKey(e.events[i].id), appendCount(nil, e.events[i].number))
	}
}

// keyRows writes keys in their order on disk, and returns by how much the counts of registered capacities change.
func (w *writer) keyRows() (map[string]int64, error) {
	capacities := map[string]int64{}
	list := slices.SortedFunc(maps.Values(w.e.keys), func(a, b *keyCopy) int { return bytes.Compare(a.key, b.key) })
	for _, k := range list {
		var before gateway.Key
		if k.was != nil {
			var err error
			if before, err = readKey(k.key, k.was); err != nil {
				return nil, err
			}
		}
		switch kept := k.is.Registered || k.is.Events > 0; {
		case !kept && k.was == nil:
			continue
		case !kept:
			w.drop(k.key)
		case !w.put(&k.diskRow, appendKey(w.value[:0], &k.is)):
			continue
		}
		w.looked = append(w.looked, k.key)
		if before.Registered {
			capacities[string(capacityKey(k.name.Tenant, k.name.Source, before.LRUCapacity))]--
		}
		if k.is.Registered {
			capacities[string(capacityKey(k.name.Tenant, k.name.Source, k.is.LRUCapacity))]++
		}
		w.repeats(k, &before)
	}
	return capacities, nil
}

// repeats moves a key with repeats to its new place.
func (w *writer) repeats(k *keyCopy, before *gateway.Key) {
	policy := &w.e.head.Policy
	for i := range k.is.Hits {
		h := &k.is.Hits[i]
		n := gateway.BookName{Currency: h.Currency, Tenant: k.name.Tenant, Source: k.name.Source}
		if i < len(before.Hits) { // hits only ever grow at their end
			if was := &before.Hits[i]; was.Last == h.Last {
				continue
			} else if policy.Qualifies(was.Count) {
				w.drop(repeatKey(n, was.Last.Seq))
			}
		}
		if policy.Qualifies(h.Count) {
			w.set(repeatKey(n, h.Last.Seq), appendRepeat(nil, h, k.name.Key))
		}
	}
}

func (w *writer) sourceRows() {
	for _, c := range slices.SortedFunc(maps.Values(w.e.sources), func(a, b *sourceCopy) int { return bytes.Compare(a.key, b.key) }) {
		if c.is != nil {
			w.put(&c.diskRow, appendSource(w.value[:0], c.is))
		}
	}
}

// twinRows drops what goes before it writes what comes: a range that was dropped may have rows anew.
func (w *writer) twinRows() {
	for n, before := range w.e.dropped {
		first, end := twinRange(n, before)
		_ = w.batch.DeleteRange(first, end, nil) // it can't fail, as set
	}
	for _, key := range slices.Sorted(maps.Keys(w.e.twins)) {
		t := w.e.twins[key]
		w.set([]byte(key), appendTwin(nil, &t))
	}
}

func (w *writer) bookRows() {
	for _, b := range slices.SortedFunc(maps.Values(w.e.books), func(a, b *bookCopy) int { return bytes.Compare(a.key, b.key) }) {
		if b.was != nil || b.is != (gateway.Book{}) {
			w.put(&b.diskRow, appendBook(w.value[:0], &b.is))
		}
	}
}
