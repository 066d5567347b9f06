package pebble

import (
	"bytes"
	"fmt"
	"maps"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// What the rule is lent: each row is read once, where preload didn't.

func (e *entering) Head() *gateway.Head { return &e.head }

func (e *entering) Source(tenant, source string) (*gateway.Source, error) {
	n := sourceName{tenant, source}
	if c := e.sources[n]; c != nil {
		return c.is, nil
	}
	c := &sourceCopy{diskRow: diskRow{key: sourcePrefix(tableSources, tenant, source)}}
	var ok bool
	var err error
	if c.was, ok, err = get(e.s.db, c.key); err != nil {
		return nil, err
	}
	if ok {
		is, err := readSource(c.key, c.was)
		if err != nil {
			return nil, err
		}
		c.is = &is
	}
	e.sources[n] = c
	return c.is, nil
}

func (e *entering) PutSource(tenant, source string) *gateway.Source {
	c := e.sources[sourceName{tenant, source}]
	if c == nil {
		c = &sourceCopy{diskRow: diskRow{key: sourcePrefix(tableSources, tenant, source)}}
		e.sources[sourceName{tenant, source}] = c
	}
	c.is = &gateway.Source{}
	return c.is
}

func (e *entering) Key(n gateway.Name) (*gateway.Key, error) {
	if k := e.keys[n]; k != nil {
		return &k.is, nil
	}
	k := &keyCopy{name: n, diskRow: diskRow{key: nameKey(n)}}
	value, ok, err := get(e.s.db, k.key)
	if err != nil {
		return nil, err
	}
	if ok {
		if err := k.read(value); err != nil {
			return nil, err
		}
	}
	e.keys[n] = k
	return &k.is, nil
}

func (e *entering) Book(n gateway.BookName) (*gateway.Book, error) {
	if b := e.books[n]; b != nil {
		return &b.is, nil
	}
	b := &bookCopy{diskRow: diskRow{key: bookPrefix(tableBooks, n)}}
	var ok bool
	var err error
	if b.was, ok, err = get(e.s.db, b.key); err != nil {
		return nil, err
	}
	if ok {
		if b.is, err = readBook(b.key, b.was); err != nil {
			return nil, err
		}
	}
	e.books[n] = b
	return &b.is, nil
}

func (e *entering) Delivery(number int64) (*gateway.Delivery, error) {
	if d := e.deliveries[number]; d != nil {
		return d.is, nil
	}
	d := &deliveryCopy{number: number, diskRow: diskRow{key: numbered(tableOutbox, number)}}
	var ok bool
	var err error
	if d.was, ok, err = get(e.s.db, d.key); err != nil {
		return nil, err
	}
	if ok {
		is, err := readDelivery(d.key, d.was)
		if err != nil {
			return nil, err
		}
		d.is = &is
	}
	e.deliveries[number] = d
	return d.is, nil
}

// PutDelivery makes the row of an event of this commit: nothing of its number is on disk.
func (e *entering) PutDelivery(d gateway.Delivery) {
	e.deliveries[d.Number] = &deliveryCopy{number: d.Number, diskRow: diskRow{key: numbered(tableOutbox, d.Number)}, is: &d}
}

// DropDelivery removes a row that was read in this commit.
func (e *entering) DropDelivery(number int64) { e.deliveries[number].is = nil }

// NextHeld takes the lower of what the commit changed and what is on disk.
func (e *entering) NextHeld(n gateway.Name) (next *gateway.Delivery, err error) {
	for _, c := range e.deliveries {
		if d := c.is; d != nil && d.Name == n && isHeld(d) && (next == nil || d.Number < next.Number) {
			next = d
		}
	}
	prefix := heldPrefix(n)
	it, err := e.s.db.NewIter(&lsm.IterOptions{LowerBound: appendNumber(prefix, e.s.w.heldMarks.from[n]), UpperBound: after(prefix)})
	if err != nil {
		return nil, damage(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		number := lastNumber(it.Key())
		if e.deliveries[number] != nil {
			continue // looked at above
		}
		if next != nil && next.Number < number {
			break
		}
		d, err := e.Delivery(number)
		if err == nil && (d == nil || !isHeld(d) || d.Name != n) {
			err = fmt.Errorf("%w: row %x points to no delivery that is held", store.ErrDamage, it.Key())
		}
		if err != nil {
			return nil, err
		}
		next = d
		break
	}
	if next != nil {
		e.found[n] = next.Number
	}
	return next, damage(it.Error())
}

func (e *entering) Twin(tenant, source string, generation int64, digest gateway.Hash) (*gateway.Twin, error) {
	key := twinKey(tenant, source, generation, digest)
	if t, ok := e.twins[string(key)]; ok {
		return &t, nil
	}
	if generation < e.dropped[sourceName{tenant, source}] {
		return nil, nil
	}
	value, ok, err := get(e.s.db, key)
	if err != nil || !ok {
		return nil, err
	}
	t, err := readTwin(key, value)
	return &t, err
}

func (e *entering) PutTwin(tenant, source string, generation int64, digest gateway.Hash, t gateway.Twin) {
	e.twins[string(twinKey(tenant, source, generation, digest))] = t
}

func (e *entering) DropTwins(tenant, source string, before int64) {
	n := sourceName{tenant, source}
	e.dropped[n] = max(e.dropped[n], before)
	first, end := twinRange(n, before)
	maps.DeleteFunc(e.twins, func(key string, _ gateway.Twin) bool { return string(first) <= key && key < string(end) })
}

// twinRange are the bodies of a source in generations before one.
func twinRange(n sourceName, before int64) (first, end []byte) {
	prefix := sourcePrefix(tableTwins, n.tenant, n.source)
	return prefix, appendNumber(bytes.Clone(prefix), before)
}

// isHeld says that a row waits for an earlier one of its key.
func isHeld(d *gateway.Delivery) bool { return d.State == gateway.Waiting && d.Due == gateway.Held }

func (e *entering) Number(id string) (int64, error) {
	for i := range e.events {
		if e.events[i].id == id {
			return e.events[i].number, nil
		}
	}
	return loadEventNumber(e.s.db, id)
}

func loadEventNumber(r lsm.Reader, id string) (int64, error) {
	key := idKey(id)
	value, ok, err := get(r, key)
	if err != nil || !ok {
		return 0, err
	}
	return readCount("event id", key, value)
}

func (e *entering) Append(_ int64, record []byte) { e.log = append(e.log, record) }

func (e *entering) PutEvent(number int64, n gateway.Name, id string, b *gateway.Body) {
	e.events = append(e.events, event{number, n, id, b})
}

// size is about what the batch will take.
func (e *entering) size() int {
	const perRow = 200 // a key, its row and an outbox row, but for names
	n := 1024 + perRow*(len(e.keys)+len(e.deliveries))
	for _, record := range e.log {
		n += len(record) + 16
	}
	for i := range e.events {
		n += 128
		if b := e.events[i].body; b != nil {
			n += len(b.Bytes)
		}
	}
	return n
}
