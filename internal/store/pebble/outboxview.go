package pebble

import (
	"fmt"
	"iter"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

func (v *booksView) Delivery(number int64) (*gateway.Delivery, error) {
	key := numbered(tableOutbox, number)
	value, ok, err := get(v.r, key)
	if err != nil || !ok {
		return nil, err
	}
	d, err := readDelivery(key, value)
	return &d, err
}

// found is a delivery to which an index points.
func (v *booksView) found(index []byte) (d gateway.Delivery, err error) {
	p, err := v.Delivery(lastNumber(index))
	if err == nil && p == nil {
		err = fmt.Errorf("%w: row %x points to no delivery", store.ErrDamage, index)
	}
	if err != nil {
		return d, err
	}
	return *p, nil
}

func (v *booksView) Due(tenant, source string, at int64, limit int) (rows []gateway.Delivery, next int64, err error) {
	prefix := sourcePrefix(tableDue, tenant, source)
	from, to := prefix, after(prefix)
	if mark := v.due[string(prefix)]; mark != nil {
		from = mark
	}
	for row, err := range scan(v.r, from, to) {
		if err != nil {
			return nil, 0, err
		}
		due := number(row[0][len(prefix):])
		if due > at || len(rows) >= limit {
			return rows, due, nil
		}
		d, err := v.found(row[0])
		if err != nil {
			return nil, 0, err
		}
		rows = append(rows, d)
	}
	return rows, gateway.Held, nil
}

func (v *booksView) DeadLetters(tenant, source string, after int64, limit int) (rows []gateway.Delivery, err error) {
	from, to := deadRange(tenant, source, after)
	for row, err := range scan(v.r, from, to) {
		if err != nil {
			return nil, err
		}
		if len(rows) >= limit {
			break
		}
		d, err := v.found(row[0])
		if err != nil {
			return nil, err
		}
		rows = append(rows, d)
	}
	return rows, nil
}

func deadRange(tenant, source string, last int64) (from, to []byte) {
	prefix := sourcePrefix(tableDead, tenant, source)
	return appendNumber(append([]byte(nil), prefix...), max(last, 0)+1), after(prefix)
}

func (v *booksView) Outbox() ([]store.OutboxCount, error) {
	from, to := table(tableQueued)
	return all(v.r, from, to, readQueued)
}

func (v *booksView) Deliveries() iter.Seq2[gateway.Delivery, error] {
	return func(yield func(gateway.Delivery, error) bool) {
		from, to := table(tableOutbox)
		for row, err := range scan(v.r, from, to) {
			var d gateway.Delivery
			if err == nil {
				d, err = readDelivery(row[0], row[1])
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}
