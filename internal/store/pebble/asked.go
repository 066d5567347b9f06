package pebble

import (
	"encoding/binary"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/gateway"
)

func askedAtKey(at, number int64) []byte { return appendNumber(numbered(tableAskedAt, at), number) }

// Asked finds a row by its event's number. See gateway.Rows.
func (e *entering) Asked(number int64) (*gateway.Asked, error) {
	for i := range e.asked {
		if e.asked[i].Number == number {
			return &e.asked[i], nil
		}
	}
	key := numbered(tableAsked, number)
	value, ok, err := get(e.s.db, key)
	if _, gone := e.forgotten[number]; err != nil || !ok || gone {
		return nil, err
	}
	a, err := readAsked(key, value)
	return &a, err
}

// PutAsked implements gateway.Rows.
func (e *entering) PutAsked(a gateway.Asked) { e.asked = append(e.asked, a) }

// ForgetAsked takes the oldest rows that were there before this commit. See gateway.Rows.
func (e *entering) ForgetAsked(before int64) error {
	from, _ := table(tableAskedAt)
	it, err := e.s.db.NewIter(&lsm.IterOptions{LowerBound: from, UpperBound: numbered(tableAskedAt, before)})
	if err != nil {
		return damage(err)
	}
	defer it.Close()
	n := 0
	for ok := it.First(); ok && n < gateway.MaxForget; ok = it.Next() {
		key := it.Key()
		if len(key) != 1+2*lenNumber {
			return unreadable("moment of a request", key)
		}
		if _, gone := e.forgotten[lastNumber(key)]; !gone {
			e.forgotten[lastNumber(key)] = number(key[1:])
			n++
		}
	}
	return damage(it.Error())
}

func (w *writer) askedRows() {
	for n, at := range w.e.forgotten {
		w.drop(numbered(tableAsked, n))
		w.drop(askedAtKey(at, n))
	}
	for i := range w.e.asked {
		a := &w.e.asked[i]
		w.set(numbered(tableAsked, a.Number), appendAsked(nil, a))
		w.set(askedAtKey(a.At, a.Number), nil)
	}
}

func appendAsked(b []byte, a *gateway.Asked) []byte {
	b = binary.AppendUvarint(appendText(binary.AppendVarint(b, a.At), a.Tenant), uint64(len(a.Keys)))
	for _, key := range a.Keys {
		b = binary.BigEndian.AppendUint64(b, key)
	}
	return b
}

func readAsked(key, value []byte) (a gateway.Asked, err error) {
	r := reader{rest: value}
	a.Number, a.At, a.Tenant = lastNumber(key), r.varint(), r.text()
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		a.Keys = append(a.Keys, r.fixed())
	}
	if !r.end() {
		return a, unreadable("request", key)
	}
	return a, nil
}

// readAskedRows holds each row against the one of its moment.
func (b *booksVerifier) readAskedRows() error {
	rows := int64(0)
	err := b.each(tableAsked, func(key, value []byte) error {
		rows++
		a, err := readAsked(key, value)
		if err != nil {
			return b.unreadable(err)
		}
		if event, _, err := b.event(a.Number); err != nil {
			return err
		} else if event == nil || event.Tenant != a.Tenant {
			b.rep.fault(&b.rep.WrongIndexes, 1, "requests are kept of %d, which is no event of %q", a.Number, a.Tenant)
		}
		if _, ok, err := get(b.r, askedAtKey(a.At, a.Number)); err != nil {
			return err
		} else if !ok {
			b.rep.fault(&b.rep.WrongIndexes, 1, "the requests about event %d aren't found by their moment", a.Number)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.counted(tableAskedAt, rows, "moments of requests")
}
