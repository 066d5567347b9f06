package pebble

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/gateway"
	"hapax/internal/store"
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
	capacities, err := w.keyRows()
	if err != nil {
		return err
	}
	w.sourceRows()
	w.bookRows()
	queued, err := w.outboxRows()
	if err != nil {
		return err
	}
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
	for i := range e.events {
		ev := &e.events[i]
		w.set(idKey(ev.id), appendCount(nil, ev.number))
		if ev.body != nil {
			w.value = appendBody(w.value[:0], ev.body)
			w.set(bodyKey(ev.name.Tenant, ev.name.Source, e.now, ev.number), w.value)
		}
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

func (w *writer) bookRows() {
	for _, b := range slices.SortedFunc(maps.Values(w.e.books), func(a, b *bookCopy) int { return bytes.Compare(a.key, b.key) }) {
		if b.was != nil || b.is != (gateway.Book{}) {
			w.put(&b.diskRow, appendBook(w.value[:0], &b.is))
		}
	}
}

// outboxRows writes deliveries and what they are found by, and returns by how much the counts of sources change.
func (w *writer) outboxRows() (map[sourceName]store.OutboxCount, error) {
	queued := map[sourceName]store.OutboxCount{}
	for _, c := range slices.SortedFunc(maps.Values(w.e.deliveries), func(a, b *deliveryCopy) int { return cmp.Compare(a.number, b.number) }) {
		switch {
		case c.is == nil && c.was == nil:
			continue
		case c.is == nil:
			w.drop(c.key)
		case !w.put(&c.diskRow, appendDelivery(w.value[:0], c.is)):
			continue
		}
		if c.was != nil {
			before, err := readDelivery(c.key, c.was)
			if err != nil {
				return nil, err
			}
			count(queued, &before, -1)
			if c.is == nil || before.State != c.is.State || before.Due != c.is.Due {
				w.unfind(&before)
			} else {
				count(queued, c.is, 1)
				continue
			}
		}
		if c.is != nil {
			count(queued, c.is, 1)
			w.find(c.is)
		}
	}
	return queued, nil
}

func count(queued map[sourceName]store.OutboxCount, d *gateway.Delivery, n int64) {
	name := sourceName{d.Name.Tenant, d.Name.Source}
	c := queued[name]
	if d.State == gateway.Dead {
		c.Dead += n
	} else {
		c.Waiting += n
	}
	queued[name] = c
}

// find writes what a delivery is found by.
func (w *writer) find(d *gateway.Delivery) {
	keys := findKeys(d)
	for _, key := range keys {
		w.set(key, nil)
	}
	if keys[0][0] == tableDue {
		w.dueNew = append(w.dueNew, keys[0])
	}
}

func (w *writer) unfind(d *gateway.Delivery) {
	keys := findKeys(d)
	for _, key := range keys {
		w.drop(key)
	}
	if keys[0][0] == tableDue {
		w.dueGone = append(w.dueGone, keys[0])
	}
}

// findKeys are the index rows of a delivery: among those that are due, those that are held, or the dead letters of its source and of its tenant.
func findKeys(d *gateway.Delivery) [][]byte {
	switch {
	case d.State == gateway.Dead:
		return [][]byte{
			appendNumber(sourcePrefix(tableDead, d.Name.Tenant, d.Name.Source), d.Number),
			appendNumber(sourcePrefix(tableDead, d.Name.Tenant, ""), d.Number),
		}
	case isHeld(d):
		return [][]byte{appendNumber(heldPrefix(d.Name), d.Number)}
	}
	return [][]byte{dueKey(d)}
}

func (w *writer) addQueued(changes map[sourceName]store.OutboxCount) error {
	for n, change := range changes {
		if change.Waiting == 0 && change.Dead == 0 {
			continue
		}
		key := sourcePrefix(tableQueued, n.tenant, n.source)
		value, ok, err := get(w.e.s.db, key)
		if err != nil {
			return err
		}
		var c store.OutboxCount
		if ok {
			if c, err = readQueued(key, value); err != nil {
				return err
			}
		}
		c.Waiting += change.Waiting
		c.Dead += change.Dead
		if c.Waiting == 0 && c.Dead == 0 {
			w.drop(key)
		} else {
			w.set(key, appendQueued(nil, &c))
		}
	}
	return nil
}

func (w *writer) addCapacities(changes map[string]int64) error {
	for key, change := range changes {
		if change == 0 {
			continue
		}
		value, ok, err := get(w.e.s.db, []byte(key))
		if err != nil {
			return err
		}
		n := change
		if ok {
			was, err := readCount("capacity", []byte(key), value)
			if err != nil {
				return err
			}
			n += was
		}
		if n == 0 {
			w.drop([]byte(key))
		} else {
			w.set([]byte(key), appendCount(nil, n))
		}
	}
	return nil
}
