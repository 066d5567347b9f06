package pebble

import (
	"bytes"
	"fmt"
	"iter"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
)

// booksView reads one snapshot.
type booksView struct {
	r    lsm.Reader
	head gateway.Head
	due  dueMarks
}

func (v *booksView) Head() gateway.Head {
	h := v.head
	h.Proof.Issues = append([]string(nil), h.Proof.Issues...)
	return h
}

// scan yields the rows of a range, keys and values valid until the next one is asked for.
func scan(r lsm.Reader, from, to []byte) iter.Seq2[[2][]byte, error] {
	return func(yield func([2][]byte, error) bool) {
		it, err := r.NewIter(&lsm.IterOptions{LowerBound: from, UpperBound: to})
		if err != nil {
			yield([2][]byte{}, damage(err))
			return
		}
		defer it.Close()
		for ok := it.First(); ok; ok = it.Next() {
			value, err := it.ValueAndErr()
			if err != nil {
				yield([2][]byte{}, damage(err))
				return
			}
			if !yield([2][]byte{it.Key(), value}, nil) {
				return
			}
		}
		if err := it.Error(); err != nil {
			yield([2][]byte{}, damage(err))
		}
	}
}

// all reads every row of a range.
func all[T any](r lsm.Reader, from, to []byte, read func(key, value []byte) (T, error)) (list []T, err error) {
	for row, err := range scan(r, from, to) {
		if err != nil {
			return nil, err
		}
		t, err := read(row[0], row[1])
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// table is the range of a whole table.
func table(b byte) (from, to []byte) { return []byte{b}, []byte{b + 1} }

// Records yields what lies there. Whether a record is missing or another one is told by the chain in them, to whoever reads them.
func (v *booksView) Records(after int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		_, to := table(tableLog)
		for row, err := range scan(v.r, numbered(tableLog, max(after, 0)+1), to) {
			if !yield(row[1], err) || err != nil {
				return
			}
		}
	}
}

func (v *booksView) Record(number int64) ([]byte, error) {
	record, _, err := get(v.r, numbered(tableLog, number))
	return record, err
}

func (v *booksView) Number(id string) (int64, error) { return loadEventNumber(v.r, id) }

// Body finds a body by the event's record, which holds the other parts of its key.
func (v *booksView) Body(number int64) (*gateway.Body, error) {
	record, err := v.Record(number)
	if err != nil || record == nil {
		return nil, err
	}
	e, err := gateway.ReadRecord(record)
	if err != nil {
		return nil, fmt.Errorf("%w: record %d: %w", store.ErrDamage, number, err)
	}
	event, ok := e.Record.(*gateway.EventRecord)
	if !ok {
		return nil, nil
	}
	key := bodyKey(event.Tenant, event.Source, e.At, number)
	value, ok, err := get(v.r, key)
	if err != nil || !ok {
		return nil, err
	}
	return readBody(key, value)
}

func (v *booksView) Sources() ([]store.NamedSource, error) {
	from, to := table(tableSources)
	return all(v.r, from, to, func(key, value []byte) (n store.NamedSource, err error) {
		var ok bool
		if n.Tenant, n.Name, ok = twoParts(key); !ok {
			return n, unreadable("source", key)
		}
		n.Source, err = readSource(key, value)
		return n, err
	})
}

func (v *booksView) Key(n gateway.Name) (k gateway.Key, err error) {
	key := nameKey(n)
	it, err := v.r.NewIter(lookedUp()) // by the filters, as commits do
	if err != nil {
		return k, damage(err)
	}
	defer it.Close()
	if !it.SeekPrefixGE(key) || !bytes.Equal(it.Key(), key) {
		return k, damage(it.Error())
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return k, damage(err)
	}
	return readKey(key, value)
}

func (v *booksView) Keys(tenant, source, last string) iter.Seq2[store.NamedKey, error] {
	from, to := table(tableKeys)
	if tenant != "" || source != "" {
		prefix := sourcePrefix(tableKeys, tenant, source)
		from, to = append(bytes.Clone(prefix), last...), after(prefix)
		if last != "" {
			from = append(from, 0)
		}
	}
	return func(yield func(store.NamedKey, error) bool) {
		for row, err := range scan(v.r, from, to) {
			var k store.NamedKey
			if err == nil {
				k, err = readNamedKey(row[0], row[1])
			}
			if !yield(k, err) || err != nil {
				return
			}
		}
	}
}

func readNamedKey(key, value []byte) (k store.NamedKey, err error) {
	var ok bool
	if k.Name, ok = splitNameKey(key); !ok {
		return k, unreadable("key", key)
	}
	k.Key, err = readKey(key, value)
	return k, err
}

func (v *booksView) Capacity(tenant, source string) (int64, error) {
	prefix := sourcePrefix(tableCapacity, tenant, source)
	it, err := v.r.NewIter(&lsm.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return 0, damage(err)
	}
	defer it.Close()
	if !it.Last() {
		return 0, damage(it.Error())
	}
	return lastNumber(it.Key()), nil
}

func (v *booksView) Books() ([]store.NamedBook, error) {
	from, to := table(tableBooks)
	return all(v.r, from, to, func(key, value []byte) (n store.NamedBook, err error) {
		var ok bool
		if n.BookName, ok = splitBookKey(key); !ok {
			return n, unreadable("book", key)
		}
		n.Book, err = readBook(key, value)
		return n, err
	})
}

func (v *booksView) Repeated(currency, tenant, source string, limit int64) (list []settle.Entry, err error) {
	prefix := bookPrefix(tableRepeats, gateway.BookName{Currency: currency, Tenant: tenant, Source: source})
	it, err := v.r.NewIter(&lsm.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return nil, damage(err)
	}
	defer it.Close()
	for ok := it.Last(); ok && int64(len(list)) < limit; ok = it.Prev() {
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, damage(err)
		}
		p, err := readRepeat(it.Key(), value)
		if err != nil {
			return nil, err
		}
		n := lastNumber(it.Key())
		list = append(list, settle.Entry{
			Tenant: tenant, Source: source, DedupeKey: p.key, Hits: p.hits,
			Recency: settle.Recency{LRURank: n, SeenAt: p.seenAt, Seq: n},
		})
	}
	return list, damage(it.Error())
}
