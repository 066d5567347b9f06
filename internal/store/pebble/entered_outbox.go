package pebble

import (
	"cmp"
	"maps"
	"slices"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

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
